// Surveys the first records of a dataset before it is indexed.
#ifndef PENSTOCK_RECORDS_DATASET_FIRST_RECORDS_H_
#define PENSTOCK_RECORDS_DATASET_FIRST_RECORDS_H_

#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "records/container/frames.h"
#include "records/dataset/feature_info.h"

namespace penstock {

// Returns the features of the first records of the first file that has any. If there is damage, the
// survey of that file ends there. `stored` is as in ScanOptions.
// kInvalidArgument: the first record is not of `format`. With `may_be_damaged`, this is an error
// only if none of the surveyed records after it is of `format` either. The message says how to
// index other records.
absl::StatusOr<FeatureSummary> SurveyFirstRecords(std::span<const std::string> files,
                                                  const std::optional<StoredRecords>& stored,
                                                  RecordFormat format, bool may_be_damaged);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_FIRST_RECORDS_H_
