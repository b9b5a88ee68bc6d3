// The mean and standard deviation of a dataset's images.
#ifndef PENSTOCK_RECORDS_DATASET_IMAGE_STATISTICS_H_
#define PENSTOCK_RECORDS_DATASET_IMAGE_STATISTICS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "records/dataset/manifest.h"
#include "records/image/pixel_sums.h"

namespace penstock {

// Mean and standard deviation of red, green and blue, where 1 stands for a byte of 255. Each image
// has the same weight, whatever its size: both numbers are computed from averages, over the images,
// of each image's mean and mean square.
struct ImageStatistics {
  std::string feature;
  uint64_t images = 0;  // Number of images in the training split.
  std::array<double, kPixelChannels> mean = {};
  std::array<double, kPixelChannels> deviation = {};
};

// Returns the statistics of the images that `name`, as used in a spec, stands for. These are the
// images of the measured feature of that name, or else of all its alternatives together. If none
// were measured, `images` is 0.
ImageStatistics StatisticsFor(const Manifest& manifest, absl::string_view name);

// Returns the statistics of each measured feature. If it has no images, mean and deviation are 0.
// Equal manifests give the same bits.
std::vector<ImageStatistics> StatisticsOf(const Manifest& manifest);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_IMAGE_STATISTICS_H_
