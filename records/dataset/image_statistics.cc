#include "records/dataset/image_statistics.h"

#include <algorithm>
#include <cmath>

#include "absl/numeric/int128.h"
#include "records/format/feature_use.h"

namespace penstock {
namespace {

// Sums over all shards. The sums of one shard fit into 64 bits; these may not.
struct TotalSums {
  uint64_t images = 0;
  std::array<absl::uint128, kPixelChannels> mean = {}, square = {};

  template <typename Sums>
  void Add(const Sums& sums) {
    images += sums.images;
    for (size_t c = 0; c < kPixelChannels; ++c) {
      mean[c] += sums.mean[c];
      square[c] += sums.square[c];
    }
  }
};

double Mean(absl::uint128 sum, uint64_t images, uint64_t units) {
  return static_cast<double>(sum) / (static_cast<double>(images) * static_cast<double>(units));
}

ImageStatistics StatisticsOf(const std::string& feature, const TotalSums& sums) {
  ImageStatistics statistics = {.feature = feature, .images = sums.images};
  for (size_t c = 0; sums.images > 0 && c < kPixelChannels; ++c) {
    const double mean = Mean(sums.mean[c], sums.images, PixelSums::kMeanUnits);
    const double square = Mean(sums.square[c], sums.images, PixelSums::kSquareUnits);
    statistics.mean[c] = mean / 255;
    // If all pixels are equal, rounding can make the difference negative.
    statistics.deviation[c] = std::sqrt(std::max(square - mean * mean, 0.0)) / 255;
  }
  return statistics;
}

TotalSums SumsOf(const Manifest& manifest, size_t feature) {
  TotalSums sums;
  for (const ShardInfo& shard : manifest.shards()) sums.Add(shard.pixel_sums[feature]);
  return sums;
}

}  // namespace

std::vector<ImageStatistics> StatisticsOf(const Manifest& manifest) {
  std::vector<ImageStatistics> all;
  for (size_t i = 0; i < manifest.measured_features().size(); ++i) {
    all.push_back(StatisticsOf(manifest.measured_features()[i], SumsOf(manifest, i)));
  }
  return all;
}

ImageStatistics StatisticsFor(const Manifest& manifest, absl::string_view name) {
  TotalSums sums;
  for (size_t i = 0; i < manifest.measured_features().size(); ++i) {
    const std::string& feature = manifest.measured_features()[i];
    if (feature == name) return StatisticsOf(feature, SumsOf(manifest, i));
    if (StandsFor(name, feature)) sums.Add(SumsOf(manifest, i));
  }
  return StatisticsOf(std::string(name), sums);
}

}  // namespace penstock
