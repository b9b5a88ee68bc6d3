#include "records/image/jpeg_encoder.h"

#include <csetjmp>
#include <cstddef>
#include <cstdio>  // jpeglib.h needs it.

#include <jpeglib.h>

#include <jerror.h>

#include "absl/strings/str_cat.h"
#include "base/rounding.h"

namespace penstock {

// As in JpegPixels::State, the frames between Run() and a callback hold only plain values.
struct JpegEncoder::State {
  PixelView pixels;
  JpegOptions options;
  size_t size = 0;  // Bytes written.
  char message[JMSG_LENGTH_MAX];

  ScratchMemory memory;
  size_t capacity = 0;
  uint8_t* out = nullptr;
  jpeg_compress_struct compress;
  jpeg_error_mgr errors;
  jpeg_destination_mgr destination;
  std::jmp_buf escape;

  void Reserve();
  bool Run();
  void Create();
  void WriteOrientation();
  void WriteRows();
  absl::Status Failure() const;

  static void OnError(j_common_ptr library) {
    State& state = *static_cast<State*>(library->client_data);
    library->err->format_message(library, state.message);
    std::longjmp(state.escape, 1);
  }
  // This cannot happen, because Reserve() allocates room for the worst case.
  static boolean OnFull(j_compress_ptr library) {
    ERREXIT(library, JERR_BUFFER_SIZE);
    return FALSE;
  }
  static void Ignore(j_compress_ptr) {}
  static void Ignore(j_common_ptr, int) {}
};

// 4:2:0 has 1.5 samples per pixel, in blocks of 16x16 pixels. A sample takes at most two bytes.
void JpegEncoder::State::Reserve() {
  constexpr size_t kBlock = 16, kHeaders = 4096;
  capacity = RoundUp(pixels.width, kBlock) * RoundUp(pixels.height, kBlock) * 3 + kHeaders;
  out = memory.Reserve(capacity);
}

bool JpegEncoder::State::Run() {
  if (setjmp(escape) != 0) return false;
  Create();
  jpeg_start_compress(&compress, TRUE);
  if (options.orientation != 1) WriteOrientation();
  WriteRows();
  jpeg_finish_compress(&compress);
  size = capacity - destination.free_in_buffer;
  return true;
}

void JpegEncoder::State::Create() {
  compress.err = jpeg_std_error(&errors);
  compress.client_data = this;
  errors.error_exit = OnError;
  errors.emit_message = Ignore;
  jpeg_create_compress(&compress);
  destination = {.next_output_byte = out,
                 .free_in_buffer = capacity,
                 .init_destination = Ignore,
                 .empty_output_buffer = OnFull,
                 .term_destination = Ignore};
  compress.dest = &destination;
  compress.image_width = pixels.width;
  compress.image_height = pixels.height;
  compress.input_components = pixels.channels;
  compress.in_color_space = pixels.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&compress);  // Selects 4:2:0.
  jpeg_set_quality(&compress, options.quality, TRUE);
  compress.dct_method = JDCT_ISLOW;
}

// Writes the smallest possible EXIF block: one directory with one entry.
void JpegEncoder::State::WriteOrientation() {
  const auto orientation = static_cast<JOCTET>(options.orientation);
  const JOCTET exif[] = {
      'E',  'x',  'i', 'f', 0, 0,        // Name of the segment.
      'M',  'M',  0,   42,  0, 0, 0, 8,  // Big-endian. The directory is at byte 8.
      0,    1,                           // Number of entries.
      0x01, 0x12, 0,   3,   0, 0, 0, 1, 0, orientation, 0, 0,  // Orientation: one short.
      0,    0,    0,   0,                                      // No further directory.
  };
  jpeg_write_marker(&compress, JPEG_APP0 + 1, exif, sizeof(exif));
}

void JpegEncoder::State::WriteRows() {
  while (compress.next_scanline < compress.image_height) {
    // The library does not write to the row.
    JSAMPROW row = const_cast<JSAMPLE*>(pixels.row(compress.next_scanline));
    jpeg_write_scanlines(&compress, &row, 1);
  }
}

absl::Status JpegEncoder::State::Failure() const {
  if (errors.msg_code == JERR_OUT_OF_MEMORY) {
    return absl::ResourceExhaustedError(
        absl::StrCat("JPEG: no memory to encode ", pixels.width, "x", pixels.height, " pixels"));
  }
  return absl::InvalidArgumentError(absl::StrCat("JPEG: ", message));
}

JpegEncoder::JpegEncoder() : state_(std::make_unique<State>()) {}
JpegEncoder::~JpegEncoder() = default;
JpegEncoder::JpegEncoder(JpegEncoder&&) noexcept = default;
JpegEncoder& JpegEncoder::operator=(JpegEncoder&&) noexcept = default;

absl::StatusOr<std::span<const uint8_t>> JpegEncoder::Encode(const PixelView& pixels,
                                                             const JpegOptions& options) {
  State& state = *state_;
  state.memory.Trim();
  state.pixels = pixels;
  state.options = options;
  state.Reserve();
  const bool done = state.Run();
  jpeg_destroy_compress(&state.compress);
  if (!done) return state.Failure();
  return std::span<const uint8_t>(state.out, state.size);
}

}  // namespace penstock
