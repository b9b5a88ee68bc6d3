#include "cli/data/record_facts.h"

#include "absl/strings/str_cat.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "cli/data/board_text.h"
#include "records/chess/planes.h"

namespace penstock {

RecordFacts::RecordFacts()
    : finder_(*FeatureFinder::Create(
          {{"d", FeatureType::kBytes, chess::kPlaneBytes}, {"s", FeatureType::kInt64, 1}})),
      found_(finder_.MakeFound()) {}

absl::Status RecordFacts::Add(const std::string& shard, const Record& record) {
  const bool chess = finder_.Find(record.payload, found_).ok();
  if (count_++ == 0) PENSTOCK_RETURN_IF_ERROR(DescribeFirst(shard, record, chess));
  Survey(record);
  images_.Add(format_, record.payload);
  if (chess) scores_.Add(found_.bytes[0], found_.ints[0]);
  if (kept_.size() < keep_) kept_.emplace_back(record.payload.begin(), record.payload.end());
  return absl::OkStatus();
}

void RecordFacts::Survey(const Record& record) {
  if (!survey_.has_value()) SetFormat(FormatOf(record.payload));
  survey_->Add(record.payload).IgnoreError();  // `penstock index --verify` reports errors.
}

absl::Status RecordFacts::DescribeFirst(const std::string& shard, const Record& record,
                                        bool chess) {
  first_ = absl::StrCat(Escaped(shard), ", record ", record.number, ", ", record.payload.size(),
                        " bytes\n");
  if (!chess) return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(const std::string board, DrawBoard(found_.bytes[0], found_.ints[0]));
  first_ += board;
  return absl::OkStatus();
}

}  // namespace penstock
