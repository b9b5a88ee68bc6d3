// Pixels of a PNG, by libpng.
#ifndef PENSTOCK_RECORDS_IMAGE_PNG_PIXELS_H_
#define PENSTOCK_RECORDS_IMAGE_PNG_PIXELS_H_

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "records/image/image_decode_options.h"

namespace penstock {

// Gamma, colour profiles and transparency are ignored, as Pillow's convert() ignores them. Not
// thread-safe.
class PngPixels {
 public:
  PngPixels();
  ~PngPixels();
  PngPixels(PngPixels&&) noexcept;
  PngPixels& operator=(PngPixels&&) noexcept;

  // Fills `out`, [height][width][options.channels], as stored; ignores options.orient. `info` is
  // what ReadPngHeader() said of `bytes`. With options.fill_truncated, samples that are missing
  // are 0. Without success `out` is unspecified.
  // kDataLoss: damaged, or cut (unless options.fill_truncated). kResourceExhausted: no memory,
  // which says nothing about `bytes`.
  absl::Status Decode(std::span<const uint8_t> bytes, const ImageInfo& info,
                      const ImageDecodeOptions& options, std::span<uint8_t> out, ImageNotes& notes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_PNG_PIXELS_H_
