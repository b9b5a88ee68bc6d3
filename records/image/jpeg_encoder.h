// Encodes pixels as JPEG.
#ifndef PENSTOCK_RECORDS_IMAGE_JPEG_ENCODER_H_
#define PENSTOCK_RECORDS_IMAGE_JPEG_ENCODER_H_

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "records/image/pixels.h"

namespace penstock {

struct JpegOptions {
  int quality = 90;     // 1 to 100, as in libjpeg.
  int orientation = 1;  // 1 to 8. Values other than 1 are written as EXIF.
};

// Encodes baseline JPEG with libjpeg-turbo: colour as 4:2:0, grey as one component. Not
// thread-safe.
class JpegEncoder {
 public:
  JpegEncoder();
  ~JpegEncoder();
  JpegEncoder(JpegEncoder&&) noexcept;
  JpegEncoder& operator=(JpegEncoder&&) noexcept;

  // The returned bytes are valid until the next call.
  // kInvalidArgument: a side of the picture is 0 or above 65,500, which JPEG cannot store.
  // kResourceExhausted: out of memory.
  // REQUIRES: `pixels` has 1 or 3 channels; the options are within their ranges.
  absl::StatusOr<std::span<const uint8_t>> Encode(const PixelView& pixels,
                                                  const JpegOptions& options);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_JPEG_ENCODER_H_
