// The mean and the standard deviation of a dataset's images.
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

// The mean and the deviation of red, green and blue, where 1 is a byte of 255. Each image has the
// same weight, whatever its size: both numbers come from averages over the images of each image's
// mean and mean square.
struct ImageStatistics {
  std::string feature;
  uint64_t images = 0;  // How many images the training split has.
  std::array<double, kPixelChannels> mean = {};
  std::array<double, kPixelChannels> deviation = {};
};

// Those of the images that `name` of a spec stands for: of the measured feature of that name, else
// of all that are its alternatives. 0 images: none were measured.
ImageStatistics StatisticsFor(const Manifest& manifest, absl::string_view name);

// The statistics of each measured feature; with 0 images mean and deviation are 0. Equal manifests
// have the same bits.
std::vector<ImageStatistics> StatisticsOf(const Manifest& manifest);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_IMAGE_STATISTICS_H_
