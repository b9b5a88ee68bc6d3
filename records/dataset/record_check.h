// Checks, surveys and measures each record of a shard for the indexer.
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
#include "records/dataset/shard_scan.h"
#include "records/format/feature_finder.h"

namespace penstock {

// Checks the records of one shard. Not thread-safe.
class RecordCheck {
 public:
  // Number of records at the front whose features are compared with those of other shards before
  // the shard has been read to its end.
  static constexpr uint64_t kFirstRecords = 100;

  // Errors are those of FeatureFinder::Create(), ImageCheck::Create() and options.make_check().
  static absl::StatusOr<RecordCheck> Create(const ScanOptions& options);

  // Checks and surveys a record, and sets whether it is held out. An error says why the record
  // cannot be used; kResourceExhausted means that there was no memory to find out.
  absl::Status Check(std::span<const uint8_t> payload, bool& held);

  // Covers the records of the format in which Check() found no fault.
  const FeatureSurvey& survey() const { return survey_; }
  // Whether kFirstRecords records were checked.
  bool has_first_records() const { return checked_records_ >= kFirstRecords; }
  // The features of the first kFirstRecords records, or of all if there are fewer.
  FeatureSummary FirstFeatures() const { return has_first_records() ? first_ : survey_.Summary(); }

  // Results for the images of all records in which Check() found no fault. With measure_images,
  // they have sums over the training images, one for each feature. They are empty if no images are
  // decoded.
  CheckedImages checked_images() const;
  // Restores an earlier state. REQUIRES: `checked` was returned by checked_images().
  void set_checked_images(CheckedImages checked);

 private:
  explicit RecordCheck(const ScanOptions& options)
      : survey_(options.format),
        parse_records_(options.parse_records),
        measure_images_(options.measure_images) {}
  absl::Status CheckAll(std::span<const uint8_t> payload, bool& held);
  absl::Status CheckImages(std::span<const uint8_t> payload, bool held);

  FeatureSurvey survey_;
  const bool parse_records_;
  const bool measure_images_;
  uint64_t checked_records_ = 0;
  FeatureSummary first_;
  std::optional<HoldoutRule> rule_;
  std::optional<FeatureFinder> finder_;  // Finds the feature of rule_.
  FoundFeatures found_;
  PayloadCheck payload_check_;        // May be null.
  std::optional<ImageCheck> images_;  // Unset if no images are decoded.
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_RECORD_CHECK_H_
