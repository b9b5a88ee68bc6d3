// What the indexer wants to know of each record.
#ifndef PENSTOCK_RECORDS_DATASET_RECORD_CHECK_H_
#define PENSTOCK_RECORDS_DATASET_RECORD_CHECK_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "records/dataset/feature_survey.h"
#include "records/dataset/holdout_rule.h"
#include "records/dataset/image_check.h"
#include "records/dataset/manifest.h"
#include "records/format/feature_finder.h"

namespace penstock {

// Not thread-safe.
class RecordCheck {
 public:
  // The first records are surveyed, or all of them if they are parsed anyway or raw.
  static constexpr uint64_t kSurveyedRecords = 100;

  // `images` are decoded if records are parsed.
  static absl::StatusOr<RecordCheck> Create(const HoldoutInfo& holdout, RecordFormat format,
                                            bool parse_records,
                                            const std::vector<ImageFeature>& images = {});

  // Sets whether the record is held out. An error says why the record cannot be used;
  // kResourceExhausted, that there was no memory to find out.
  absl::Status Check(std::span<const uint8_t> payload, bool& held);

  const FeatureSurvey& survey() const { return survey_; }
  // Whether the first records were surveyed.
  bool surveyed() const { return tried_records_ >= kSurveyedRecords; }

 private:
  RecordCheck(RecordFormat format, bool parse_records)
      : survey_(format),
        survey_all_(parse_records || format == RecordFormat::kRaw),
        parse_records_(parse_records) {}

  FeatureSurvey survey_;
  const bool survey_all_;
  const bool parse_records_;
  uint64_t tried_records_ = 0;
  std::optional<HoldoutRule> rule_;
  std::optional<FeatureFinder> finder_;  // Of what the rule needs.
  FoundFeatures found_;
  std::optional<ImageCheck> images_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_RECORD_CHECK_H_
