// Checks that the shards of an index belong to one dataset.
#ifndef PENSTOCK_RECORDS_DATASET_FEATURE_AGREEMENT_H_
#define PENSTOCK_RECORDS_DATASET_FEATURE_AGREEMENT_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "records/dataset/feature_info.h"

namespace penstock {

// Compares each shard with the first shard that has features. Not thread-safe.
class FeatureAgreement {
 public:
  // Returns kInvalidArgument if the features differ (FeatureDifference()). The message names both
  // shards and the feature.
  absl::Status Add(const std::string& shard, const FeatureSummary& features) {
    if (first_.features.empty()) {
      first_shard_ = shard;
      first_ = features;
      return absl::OkStatus();
    }
    const std::string difference = FeatureDifference(first_, features);
    if (difference.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        first_shard_, " and ", shard, " have different features: ", difference,
        "; index them apart, or with --mixed-features if they are one dataset all the same"));
  }

 private:
  std::string first_shard_;
  FeatureSummary first_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_FEATURE_AGREEMENT_H_
