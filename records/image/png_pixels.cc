#include "records/image/png_pixels.h"

#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "records/image/color.h"
#include "records/image/pixels.h"

namespace penstock {
namespace {

void CopyBytes(const uint8_t* in, size_t bytes, uint8_t* out) { std::memcpy(out, in, bytes); }

}  // namespace

// The state that libpng's callbacks can reach. The library's errors end in longjmp(), which runs no
// destructors, so the frames between Run() and a callback hold only plain values.
struct PngPixels::State {
  enum class Stop { kNone, kLibrary, kCut, kMemory };

  // State of one image.
  std::span<const uint8_t> rest;
  const ImageInfo* info = nullptr;
  const ImageDecodeOptions* options = nullptr;
  uint8_t* stored = nullptr;  // Pixels as libpng returns them.
  size_t stored_row_bytes = 0;
  ColorTable colors;  // Used for samples of 8 bits or fewer.
  ImageNotes notes;
  Stop stop = Stop::kNone;
  bool has_header = false;
  char message[128];

  ScratchMemory memory;
  png_structp png = nullptr;
  png_infop png_info = nullptr;
  std::jmp_buf escape;

  bool Run();
  void Create();
  void Transform();
  void ReadHeader();
  void ReadRows();
  void ReadPalette();
  void ConvertTo(uint8_t* out) const;
  absl::Status Failure() const;

  // Number of bytes of a stored pixel: 1 for grey or a palette index of at most 8 bits, 2 for
  // 16-bit grey that is clipped, 3 for RGB. Alpha is dropped, and so is the low half of other
  // 16-bit samples.
  size_t stored_pixel_bytes() const {
    if (info->components >= 3) return 3;
    return clips_grey16() ? 2 : 1;
  }
  // Grey with alpha does not count: Pillow uses the high byte there, as for colours.
  bool is_grey16() const { return info->components == 1 && info->bit_depth == 16; }
  bool clips_grey16() const { return is_grey16() && !options->scale_grey16; }

  [[noreturn]] void Escape(Stop why) {
    stop = why;
    std::longjmp(escape, 1);
  }

  static void OnError(png_structp png, png_const_charp message);
  static void OnWarning(png_structp png, png_const_charp);
  static void Read(png_structp png, png_bytep out, size_t size);
};

void PngPixels::State::OnError(png_structp png, png_const_charp message) {
  State& state = *static_cast<State*>(png_get_error_ptr(png));
  const size_t size = std::min(std::strlen(message), sizeof(state.message) - 1);
  std::memcpy(state.message, message, size);
  state.message[size] = '\0';
  // Only these messages of libpng mean that malloc() failed.
  const bool memory = std::strstr(state.message, "ut of memory") != nullptr ||
                      std::strstr(state.message, "nsufficient memory") != nullptr;
  state.Escape(memory ? Stop::kMemory : Stop::kLibrary);
}

void PngPixels::State::OnWarning(png_structp png, png_const_charp) {
  ++static_cast<State*>(png_get_error_ptr(png))->notes.warnings;
}

void PngPixels::State::Read(png_structp png, png_bytep out, size_t size) {
  State& state = *static_cast<State*>(png_get_io_ptr(png));
  if (size > state.rest.size()) state.Escape(Stop::kCut);
  std::memcpy(out, state.rest.data(), size);
  state.rest = state.rest.subspan(size);
}

bool PngPixels::State::Run() {
  if (setjmp(escape) != 0) return false;
  Create();
  ReadHeader();
  ReadRows();
  png_read_end(png, nullptr);
  return true;
}

void PngPixels::State::Create() {
  png = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, OnError, OnWarning);
  if (png == nullptr) Escape(Stop::kMemory);
  png_info = png_create_info_struct(png);
  if (png_info == nullptr) Escape(Stop::kMemory);
  png_set_read_fn(png, this, Read);
  png_set_user_limits(png, options->limits.max_side, options->limits.max_side);
  png_set_chunk_malloc_max(png, options->limits.max_chunk);
  png_set_benign_errors(png, 1);
  // Keeps only the chunks that pixels need, because profiles and texts may expand a thousand times.
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER,
                              reinterpret_cast<png_const_bytep>("tRNS"), 1);
}

void PngPixels::State::ReadHeader() {
  png_read_info(png, png_info);
  if (info->components == 1 && info->bit_depth <= 8) ReadPalette();
  png_set_packing(png);
  if (!is_grey16()) {
    png_set_strip_16(png);
  } else if (options->scale_grey16) {
    png_set_scale_16(png);
  }
  png_set_strip_alpha(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, png_info);
  if (png_get_rowbytes(png, png_info) != stored_row_bytes) png_error(png, "unexpected row size");
  has_header = true;
}

// Indices beyond the end of the palette are black.
void PngPixels::State::ReadPalette() {
  if (!info->palette) {
    colors = ColorTable::Grey(info->bit_depth);
    return;
  }
  png_colorp palette = nullptr;
  int size = 0;
  png_get_PLTE(png, png_info, &palette, &size);
  colors = {};
  for (int i = 0; i < size; ++i) {
    colors.rgb[static_cast<size_t>(i)] = {palette[i].red, palette[i].green, palette[i].blue};
  }
}

void PngPixels::State::ReadRows() {
  const int passes = info->progressive ? PNG_INTERLACE_ADAM7_PASSES : 1;
  for (int pass = 0; pass < passes; ++pass) {
    for (size_t y = 0; y < info->height; ++y) {
      png_read_row(png, stored + y * stored_row_bytes, nullptr);
    }
  }
}

void PngPixels::State::ConvertTo(uint8_t* out) const {
  const size_t pixels = info->pixels();
  const bool grey = options->channels == 1;
  if (info->components == 2 || (is_grey16() && options->scale_grey16)) {
    grey ? CopyBytes(stored, pixels, out) : GreyToRgb(stored, pixels, out);
  } else if (info->components >= 3) {
    grey ? RgbToGrey(stored, pixels, out) : CopyBytes(stored, 3 * pixels, out);
  } else if (is_grey16()) {  // Clipped.
    grey ? Grey16ToGrey(stored, pixels, out) : Grey16ToRgb(stored, pixels, out);
  } else {
    grey ? colors.ToGrey(stored, pixels, out) : colors.ToRgb(stored, pixels, out);
  }
}

absl::Status PngPixels::State::Failure() const {
  switch (stop) {
    case Stop::kNone:
      return absl::OkStatus();
    case Stop::kCut:
      return absl::DataLossError(
          "PNG: the end marker is missing: the file is cut; store it again, or let the spec fill "
          "it (truncated: FILL)");
    case Stop::kMemory:
      return absl::ResourceExhaustedError(
          absl::StrCat("PNG: no memory to decode ", info->width, "x", info->height, " pixels"));
    case Stop::kLibrary:
      break;
  }
  return absl::DataLossError(absl::StrCat("PNG: ", message));
}

PngPixels::PngPixels() : state_(std::make_unique<State>()) {}
PngPixels::~PngPixels() = default;
PngPixels::PngPixels(PngPixels&&) noexcept = default;
PngPixels& PngPixels::operator=(PngPixels&&) noexcept = default;

void PngPixels::Trim(size_t kept) { state_->memory.Trim(kept); }
size_t PngPixels::kept_bytes() const { return state_->memory.capacity(); }

absl::Status PngPixels::Decode(std::span<const uint8_t> bytes, const ImageInfo& info,
                               const ImageDecodeOptions& options, std::span<uint8_t> out,
                               ImageNotes& notes) {
  State& state = *state_;
  state.rest = bytes;
  state.info = &info;
  state.options = &options;
  state.notes = {};
  state.stop = State::Stop::kNone;
  state.has_header = false;
  state.stored_row_bytes = info.width * state.stored_pixel_bytes();
  const size_t stored_bytes = state.stored_row_bytes * info.height;
  state.stored = state.memory.Reserve(stored_bytes);
  // The missing part of a truncated file must not show pixels of the previous image.
  if (options.fill_truncated) std::memset(state.stored, 0, stored_bytes);
  state.Run();
  png_destroy_read_struct(&state.png, &state.png_info, nullptr);
  if (state.stop == State::Stop::kCut && options.fill_truncated && state.has_header) {
    state.stop = State::Stop::kNone;
    state.notes.truncated = true;
  }
  if (state.stop == State::Stop::kNone) state.ConvertTo(out.data());
  notes = state.notes;
  return state.Failure();
}

}  // namespace penstock
