// Which records are held out, by a feature of any type.
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

// Decides by the values of one feature, so that equal values never straddle the split. What is
// hashed (docs/reference/manifest_format.md): of one bytes value its bytes; of several bytes values
// each one's length as a varint, then its bytes; of numbers 8 bytes an int64 and 4 bytes a float,
// little-endian. Not thread-safe.
class HoldoutRule {
 public:
  // `feature`: its name, or empty for the whole payload. `threshold` is the share times 2^32. Adds
  // to `specs` what a FeatureFinder has to find for it.
  HoldoutRule(const std::string& feature, uint32_t threshold, std::vector<FeatureUse>& specs);

  // To be called once the finder of these specs is made.
  void Bind(const FeatureFinder& finder) { slot_ = finder.slot(spec_); }

  // REQUIRES: Bind(); `found` is what that finder found.
  bool InHoldout(const FoundFeatures& found);

 private:
  std::span<const uint8_t> Value(const FoundVariable& variable);

  uint32_t threshold_;
  size_t spec_ = 0;
  size_t slot_ = 0;
  bool variable_ = false;
  std::vector<uint8_t> value_;
};

// kInvalidArgument: some of these records have no value of `feature`, so that nothing decides on
// them; says which features there are.
absl::Status CheckHoldoutFeature(const std::string& feature, const FeatureSummary& features);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_HOLDOUT_RULE_H_
