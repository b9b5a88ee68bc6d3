// Sums over images, from which the mean and the standard deviation of their pixels follow.
#ifndef PENSTOCK_RECORDS_IMAGE_PIXEL_SUMS_H_
#define PENSTOCK_RECORDS_IMAGE_PIXEL_SUMS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "records/image/pixels.h"

namespace penstock {

inline constexpr size_t kPixelChannels = 3;  // Red, green, blue.

// Each image counts alike, whatever its size. The sums are whole numbers, so they are the same in
// whatever order images and sums are added.
struct PixelSums {
  // The sums of so many images fit; to decode them takes decades.
  static constexpr uint64_t kMostImages = uint64_t{1} << 40;
  static constexpr uint64_t kMeanUnits = uint64_t{1} << 16;      // In a byte.
  static constexpr uint64_t kSquareUnits = uint64_t{1} << 8;     // In a byte times a byte.
  static constexpr uint64_t kMostMean = 255 * kMeanUnits;        // Of an image.
  static constexpr uint64_t kMostSquare = 65025 * kSquareUnits;  // The same.

  uint64_t images = 0;
  std::array<uint64_t, kPixelChannels> mean = {};    // Of each image's mean byte, rounded.
  std::array<uint64_t, kPixelChannels> square = {};  // Of its mean square, rounded.

  // REQUIRES: three channels; fewer than kMostImages images.
  void Add(const PixelView& image);
  void Add(const PixelSums& other);

  friend bool operator==(const PixelSums&, const PixelSums&) = default;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_PIXEL_SUMS_H_
