// Decides which records are held out, by a feature of any type.
#ifndef PENSTOCK_RECORDS_DATASET_HOLDOUT_RULE_H_
#define PENSTOCK_RECORDS_DATASET_HOLDOUT_RULE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "records/dataset/feature_info.h"
#include "records/format/feature_finder.h"

namespace penstock {

// Decides by a hash of the values of one feature, so that records with equal values are always in
// the same split. The hash covers
//   - for one bytes value, its bytes
//   - for several bytes values, the length of each as a varint, and its bytes
//   - for each int64, 8 bytes, and for each float, 4 bytes, little-endian
// docs/reference/manifest_format.md defines it. Not thread-safe.
class HoldoutRule {
 public:
  // `feature` is the name of the feature, or empty for the whole payload. `threshold` is the
  // held-out share times 2^32. Adds to `specs` the feature that a FeatureFinder must find, unless
  // it is already there.
  HoldoutRule(const std::string& feature, uint32_t threshold, std::vector<FeatureUse>& specs);

  // Call it after you have created the finder for these specs.
  void Bind(const FeatureFinder& finder) { slot_ = finder.slot(spec_); }

  // Whether the record is held out. REQUIRES: Bind() was called, and its finder has filled `found`.
  bool InHoldout(const FoundFeatures& found);

 private:
  std::span<const uint8_t> Value(const FoundVariable& variable);

  uint32_t threshold_;
  size_t spec_ = 0;
  size_t slot_ = 0;
  bool variable_ = false;
  std::vector<uint8_t> value_;
};

// Returns kInvalidArgument if some of these records have no value of `feature`, so that nothing
// decides on them. The message lists the available features.
absl::Status CheckHoldoutFeature(const std::string& feature, const FeatureSummary& features);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_HOLDOUT_RULE_H_
