#include "records/image/jpeg_pixels.h"

#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <cstdio>  // jpeglib.h needs it.

#include <jpeglib.h>

#include <jerror.h>

#include "absl/strings/str_cat.h"
#include "records/image/color.h"
#include "records/image/jpeg_scan.h"

namespace penstock {

// The state that libjpeg-turbo's callbacks can reach. The library's errors end in longjmp(), which
// runs no destructors, so the frames between Run() and a callback hold only plain values.
struct JpegPixels::State {
  enum class Stop { kNone, kLibrary, kCut, kScans, kOtherHeader };

  // State of one image.
  std::span<const uint8_t> bytes;
  const ImageInfo* info = nullptr;
  const ImageDecodeOptions* options = nullptr;
  const CropRect* region = nullptr;
  ScratchMemory* memory = nullptr;
  Size picture;  // Size after shrinking.
  bool decodes_whole = true;
  PicturePart part;
  uint8_t* out = nullptr;        // The pixels of the part.
  ConvertRow convert = nullptr;  // Converts the library's rows to ours; null if they are the same.
  uint8_t* row = nullptr;        // A row of the library, if it must be converted.
  ImageNotes notes;
  Stop stop = Stop::kNone;
  char message[JMSG_LENGTH_MAX];

  ScratchMemory row_memory;
  jpeg_decompress_struct decompress;
  jpeg_error_mgr errors;
  jpeg_source_mgr source;
  jpeg_progress_mgr progress;
  std::jmp_buf escape;

  bool Run();
  void Create();
  void ReadHeader();
  bool UpsamplesWhatIsShrunk() const;
  void ChooseColors();
  void ChoosePart();
  void ReadRows();
  void CropToRegion();
  absl::Status Failure() const;
  void ReserveRow();

  [[noreturn]] void Escape(Stop why) {
    stop = why;
    std::longjmp(escape, 1);
  }

  template <typename Library>
  static State& Of(Library* library) {
    return *static_cast<State*>(library->client_data);
  }
  static void OnError(j_common_ptr library);
  static void OnMessage(j_common_ptr library, int level);
  static void OnProgress(j_common_ptr library);
  static boolean OnEndOfInput(j_decompress_ptr library);
  static void Skip(j_decompress_ptr library, long count);
  static void Ignore(j_decompress_ptr) {}
};

void JpegPixels::State::OnError(j_common_ptr library) {
  library->err->format_message(library, Of(library).message);
  Of(library).Escape(Stop::kLibrary);
}

void JpegPixels::State::OnMessage(j_common_ptr library, int level) {
  if (level < 0) ++Of(library).notes.warnings;
}

// Called for each row of blocks of each scan. Counts scans, because a few bytes can be a scan of
// the whole image.
void JpegPixels::State::OnProgress(j_common_ptr library) {
  State& state = Of(library);
  if (static_cast<uint32_t>(state.decompress.input_scan_number) > state.options->limits.max_scans) {
    state.Escape(Stop::kScans);
  }
}

boolean JpegPixels::State::OnEndOfInput(j_decompress_ptr library) {
  static constexpr JOCTET kEndMarker[] = {0xff, JPEG_EOI};
  State& state = Of(library);
  if (!state.options->fill_truncated) state.Escape(Stop::kCut);
  state.notes.truncated = true;
  library->src->next_input_byte = kEndMarker;
  library->src->bytes_in_buffer = sizeof(kEndMarker);
  return TRUE;
}

void JpegPixels::State::Skip(j_decompress_ptr library, long count) {
  if (count <= 0) return;
  if (static_cast<size_t>(count) > library->src->bytes_in_buffer) {
    OnEndOfInput(library);
    return;
  }
  library->src->next_input_byte += count;
  library->src->bytes_in_buffer -= static_cast<size_t>(count);
}

bool JpegPixels::State::Run() {
  if (setjmp(escape) != 0) return false;
  Create();
  ReadHeader();
  ChooseColors();
  jpeg_start_decompress(&decompress);
  ChoosePart();
  ReadRows();
  return true;
}

// Creates a new decompressor for each image, which takes 0.3 us. Otherwise tables of the previous
// image would replace those that a file lacks, and pixels would depend on what was decoded before.
void JpegPixels::State::Create() {
  decompress.err = jpeg_std_error(&errors);
  decompress.client_data = this;
  errors.error_exit = OnError;
  errors.emit_message = OnMessage;
  jpeg_create_decompress(&decompress);
  progress.progress_monitor = OnProgress;
  decompress.progress = &progress;
  source = {.next_input_byte = bytes.data(),
            .bytes_in_buffer = bytes.size(),
            .init_source = Ignore,
            .fill_input_buffer = OnEndOfInput,
            .skip_input_data = Skip,
            .resync_to_restart = jpeg_resync_to_restart,
            .term_source = Ignore};
  decompress.src = &source;
}

void JpegPixels::State::ReadHeader() {
  jpeg_read_header(&decompress, TRUE);
  const bool keeps_coefficients = jpeg_has_multiple_scans(&decompress) != 0;
  if (decompress.image_width != info->width || decompress.image_height != info->height ||
      decompress.num_components != info->components ||
      keeps_coefficients != (info->coefficient_bytes > 0)) {
    Escape(Stop::kOtherHeader);
  }
  decodes_whole = *region == CropRect{0, 0, picture.width, picture.height} || keeps_coefficients ||
                  UpsamplesWhatIsShrunk() ||
                  !HoldsOneWholeScan({source.next_input_byte, source.bytes_in_buffer});
  decompress.mem->max_memory_to_use = static_cast<long>(DecodeMemory(*info, 0));
  decompress.scale_num = 1;
  decompress.scale_denom = options->shrink;
  decompress.dct_method = JDCT_ISLOW;
  decompress.do_fancy_upsampling = TRUE;
  decompress.do_block_smoothing = FALSE;
}

// Returns whether chroma still has fewer samples than luma after shrinking, although blocks of
// chroma are shrunk less than blocks of luma. Regions of such pictures are wrong in the last rows.
bool JpegPixels::State::UpsamplesWhatIsShrunk() const {
  return options->shrink > 1 && decompress.max_h_samp_factor * decompress.max_v_samp_factor > 4;
}

void JpegPixels::State::ChooseColors() {
  const bool grey = options->channels == 1;
  if (decompress.num_components == 4) {
    decompress.out_color_space = JCS_CMYK;
    convert = grey ? InvertedCmykToGrey : InvertedCmykToRgb;
  } else if (decompress.num_components == 3) {
    // The Y plane is not used here. Pillow uses it only in draft mode.
    decompress.out_color_space = JCS_RGB;
    convert = grey ? RgbToGrey : nullptr;
  } else {
    decompress.out_color_space = grey ? JCS_GRAYSCALE : JCS_RGB;
    convert = nullptr;
  }
}

void JpegPixels::State::ChoosePart() {
  part = {.pixels = {nullptr, picture.width, picture.height, options->channels}};
  if (!decodes_whole) CropToRegion();
  out = memory->Reserve(part.pixels.bytes());
  part.pixels.data = out;
}

// Decodes a margin of columns beside the region, for two reasons. Fancy upsampling reads the column
// beside a region, and a component with fewer than two samples across is upsampled differently. At
// 4:1, five columns have two samples.
void JpegPixels::State::CropToRegion() {
  constexpr int64_t kMargin = 4;
  const int64_t begin = std::max<int64_t>(region->left - kMargin, 0);
  const int64_t end = std::min<int64_t>(region->left + region->width + kMargin, picture.width);
  JDIMENSION left = static_cast<JDIMENSION>(begin), width = static_cast<JDIMENSION>(end - begin);
  jpeg_crop_scanline(&decompress, &left, &width);  // Moves `left` down to a block boundary.
  part.left = left;
  part.top = static_cast<uint32_t>(region->top);
  part.pixels.width = width;
  part.pixels.height = region->height;
}

void JpegPixels::State::ReadRows() {
  // Skips once, from the first row. A skip that begins within a group of rows gives wrong rows
  // (libjpeg-turbo issue 915).
  jpeg_skip_scanlines(&decompress, part.top);
  const PixelView& pixels = part.pixels;
  for (size_t y = 0; y < pixels.height; ++y) {
    uint8_t* target = out + y * pixels.row_bytes();
    JSAMPROW next = convert != nullptr ? row : target;
    jpeg_read_scanlines(&decompress, &next, 1);
    if (convert != nullptr) convert(row, pixels.width, target);
  }
  if (decodes_whole) jpeg_finish_decompress(&decompress);  // Reads up to the end marker.
}

void JpegPixels::State::ReserveRow() {
  constexpr size_t kMostComponents = 4;
  row = row_memory.Reserve(info->width * kMostComponents);
}

absl::Status JpegPixels::State::Failure() const {
  switch (stop) {
    case Stop::kNone:
      return absl::OkStatus();
    case Stop::kCut:
      return absl::DataLossError(absl::StrCat(
          "JPEG: the end marker is missing after ", bytes.size(),
          " bytes: the file is cut; store it again, or let the spec fill it (truncated: FILL)"));
    case Stop::kScans:
      return absl::InvalidArgumentError(
          absl::StrCat("JPEG: more than ", options->limits.max_scans,
                       " scans: encode the image again, or raise max_scans in the spec's image"));
    case Stop::kOtherHeader:
      return absl::DataLossError("JPEG: the header is ambiguous: encode the image again");
    case Stop::kLibrary:
      break;
  }
  if (errors.msg_code == JERR_OUT_OF_MEMORY) {
    return absl::ResourceExhaustedError(
        absl::StrCat("JPEG: no memory to decode ", info->width, "x", info->height, " pixels"));
  }
  return absl::DataLossError(absl::StrCat("JPEG: ", message));
}

JpegPixels::JpegPixels() : state_(std::make_unique<State>()) {}
JpegPixels::~JpegPixels() = default;
JpegPixels::JpegPixels(JpegPixels&&) noexcept = default;
JpegPixels& JpegPixels::operator=(JpegPixels&&) noexcept = default;

absl::StatusOr<PicturePart> JpegPixels::Decode(std::span<const uint8_t> bytes,
                                               const ImageInfo& info,
                                               const ImageDecodeOptions& options,
                                               const CropRect& region, ScratchMemory& memory,
                                               ImageNotes& notes) {
  State& state = *state_;
  state.bytes = bytes;
  state.info = &info;
  state.options = &options;
  state.region = &region;
  state.memory = &memory;
  state.picture = ShrunkSize({info.width, info.height}, options.shrink);
  state.notes = {};
  state.stop = State::Stop::kNone;
  state.ReserveRow();
  state.Run();
  jpeg_destroy_decompress(&state.decompress);
  notes = state.notes;
  if (absl::Status failure = state.Failure(); !failure.ok()) return failure;
  return state.part;
}

}  // namespace penstock
