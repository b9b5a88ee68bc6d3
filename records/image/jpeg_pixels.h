// Pixels of a JPEG, by libjpeg-turbo.
#ifndef PENSTOCK_RECORDS_IMAGE_JPEG_PIXELS_H_
#define PENSTOCK_RECORDS_IMAGE_JPEG_PIXELS_H_

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "records/image/image_decode_options.h"

namespace penstock {

// The accurate integer DCT and fancy upsampling, which every version and SIMD path of libjpeg-turbo
// computes alike. Blocks of a progressive file that lacks scans are not smoothed: versions differ
// there. Not thread-safe.
class JpegPixels {
 public:
  JpegPixels();
  ~JpegPixels();
  JpegPixels(JpegPixels&&) noexcept;
  JpegPixels& operator=(JpegPixels&&) noexcept;

  // Fills `out`, [height][width][options.channels], as stored; ignores options.orient. `info` is
  // what ReadJpegHeader() said of `bytes`. Without success `out` is unspecified.
  // kDataLoss: damaged, or cut (unless options.fill_truncated). kInvalidArgument: too many scans.
  // kResourceExhausted: no memory, which says nothing about `bytes`.
  absl::Status Decode(std::span<const uint8_t> bytes, const ImageInfo& info,
                      const ImageDecodeOptions& options, std::span<uint8_t> out, ImageNotes& notes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_JPEG_PIXELS_H_
