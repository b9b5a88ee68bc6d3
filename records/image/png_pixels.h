// Decodes the pixels of a PNG with libpng.
#ifndef PENSTOCK_RECORDS_IMAGE_PNG_PIXELS_H_
#define PENSTOCK_RECORDS_IMAGE_PNG_PIXELS_H_

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "records/image/image_decode_options.h"

namespace penstock {

// Ignores gamma, colour profiles and transparency, as Pillow's convert() does. Not thread-safe.
class PngPixels {
 public:
  PngPixels();
  ~PngPixels();
  PngPixels(PngPixels&&) noexcept;
  PngPixels& operator=(PngPixels&&) noexcept;

  // Fills `out`, which has shape [height][width][options.channels], with the picture as stored.
  // Ignores options.orient. With options.fill_truncated, missing samples are 0. After an error,
  // `out` is unspecified.
  // REQUIRES: `info` is ReadPngHeader(bytes).
  // kDataLoss: the file is damaged, or it is truncated and options.fill_truncated is false.
  // kResourceExhausted: out of memory, which says nothing about `bytes`.
  absl::Status Decode(std::span<const uint8_t> bytes, const ImageInfo& info,
                      const ImageDecodeOptions& options, std::span<uint8_t> out, ImageNotes& notes);

  // Frees what a picture needed beyond `kept` bytes.
  void Trim(size_t kept);
  size_t kept_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_PNG_PIXELS_H_
