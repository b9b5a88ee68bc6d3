// Sums over images, from which the mean and the standard deviation of their pixels are computed.
#ifndef PENSTOCK_RECORDS_IMAGE_PIXEL_SUMS_H_
#define PENSTOCK_RECORDS_IMAGE_PIXEL_SUMS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "records/image/pixels.h"

namespace penstock {

inline constexpr size_t kPixelChannels = 3;  // Red, green, blue.

// Each image has the same weight, whatever its size. The sums are whole numbers, so they do not
// depend on the order in which images and sums are added.
struct PixelSums {
  // The sums of this many images fit into 64 bits. Decoding as many would take decades.
  static constexpr uint64_t kMostImages = uint64_t{1} << 40;
  static constexpr uint64_t kMeanUnits = uint64_t{1} << 16;      // Units of `mean` per byte value.
  static constexpr uint64_t kSquareUnits = uint64_t{1} << 8;     // Units per byte value squared.
  static constexpr uint64_t kMostMean = 255 * kMeanUnits;        // Largest mean of one image.
  static constexpr uint64_t kMostSquare = 65025 * kSquareUnits;  // Largest square of one image.

  uint64_t images = 0;
  std::array<uint64_t, kPixelChannels> mean = {};    // Sums of each image's mean byte, rounded.
  std::array<uint64_t, kPixelChannels> square = {};  // Sums of each image's mean square, rounded.

  // REQUIRES: three channels; fewer than kMostImages images.
  void Add(const PixelView& image);
  void Add(const PixelSums& other);

  friend bool operator==(const PixelSums&, const PixelSums&) = default;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_PIXEL_SUMS_H_
