// A look at a dataset's first records, before it is indexed.
#ifndef PENSTOCK_RECORDS_DATASET_FIRST_RECORDS_H_
#define PENSTOCK_RECORDS_DATASET_FIRST_RECORDS_H_

#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "records/container/frames.h"
#include "records/dataset/feature_info.h"

namespace penstock {

// The features of the first records of the first of `files` that has any; what is damaged ends the
// look at its file. kInvalidArgument: the very first record is not of `format`, nor with
// `may_be_damaged` any of those behind it; says how other records are indexed.
// `stored` is as ScanOptions has it.
absl::StatusOr<FeatureSummary> SurveyFirstRecords(std::span<const std::string> files,
                                                  const std::optional<StoredRecords>& stored,
                                                  RecordFormat format, bool may_be_damaged);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_FIRST_RECORDS_H_
