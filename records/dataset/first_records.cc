#include "records/dataset/first_records.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/io/file_source.h"
#include "base/status.h"
#include "records/container/shard_reader.h"
#include "records/dataset/feature_survey.h"
#include "records/dataset/record_check.h"

namespace penstock {
namespace {

absl::Status NoExample(const std::string& file, const absl::Status& why) {
  return absl::InvalidArgumentError(
      absl::StrCat(file, ": record 0 at offset 0: ", why.message(),
                   "; penstock index --format raw takes records of any other kind"));
}

// Adds the first records of the file to `survey`. Returns the first error of a record that is not
// of the format.
absl::Status SurveyFile(ShardReader reader, FeatureSurvey& survey) {
  Record record;
  absl::Status first;
  for (uint64_t i = 0; i < RecordCheck::kFirstRecords; ++i) {
    const absl::StatusOr<bool> more = reader.Next(record);
    if (!more.ok() || !*more) break;  // The scan reports damage.
    const absl::Status status = survey.Add(record.payload);
    if (!status.ok() && i == 0) first = status;
  }
  return first;
}

}  // namespace

absl::StatusOr<FeatureSummary> SurveyFirstRecords(std::span<const std::string> files,
                                                  const std::optional<StoredRecords>& stored,
                                                  RecordFormat format, bool may_be_damaged) {
  for (const std::string& file : files) {
    PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<FileSource> source, FileSource::Open(file));
    FeatureSurvey survey(format);
    PENSTOCK_ASSIGN_OR_RETURN(ShardReader reader, ShardReader::Create(*source, stored));
    const absl::Status first = SurveyFile(std::move(reader), survey);
    if (!first.ok() && !(may_be_damaged && survey.records() > 0)) return NoExample(file, first);
    if (survey.records() > 0) return Canonical(survey.Summary());
  }
  return FeatureSummary();
}

}  // namespace penstock
