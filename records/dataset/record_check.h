// What the indexer wants to know of each record.
#ifndef PENSTOCK_RECORDS_DATASET_RECORD_CHECK_H_
#define PENSTOCK_RECORDS_DATASET_RECORD_CHECK_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "records/dataset/holdout_rule.h"
#include "records/dataset/manifest.h"
#include "records/format/feature_finder.h"

namespace penstock {

// Not thread-safe.
class RecordCheck {
 public:
  static absl::StatusOr<RecordCheck> Create(const HoldoutInfo& holdout, bool parse_records);

  // Sets whether the record is held out. An error says why the record cannot be used.
  absl::Status Check(std::span<const uint8_t> payload, bool& held);

  // Of the first 100 records.
  std::vector<FeatureInfo> TakeFeatures() { return std::move(features_); }

 private:
  RecordCheck() = default;
  void Note(const FeatureView& feature);

  bool parse_records_ = false;
  std::optional<HoldoutRule> rule_;
  std::optional<FeatureFinder> finder_;  // Of what the rule needs.
  FoundFeatures found_;
  int noted_records_ = 0;
  std::vector<FeatureInfo> features_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_RECORD_CHECK_H_
