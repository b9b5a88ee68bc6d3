#include "cli/pack/json_records.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace penstock {

absl::StatusOr<std::unique_ptr<InputRecords>> JsonRecords::Open(std::unique_ptr<ByteSource> source,
                                                                TableColumns& table) {
  if (!table.known()) {
    JsonRecords(*source, table).Survey(table);
    table.SetKnown(source->name());
  }
  std::unique_ptr<JsonRecords> records(new JsonRecords(*source, table));
  records->owned_ = std::move(source);
  return std::unique_ptr<InputRecords>(std::move(records));
}

// Finds the types of keys. Lines that cannot be used are reported when they are packed.
void JsonRecords::Survey(TableColumns& table) {
  JsonSurvey survey(table.columns());
  absl::string_view line;
  for (size_t row = 0; row < TableColumns::kSampleRows; ++row) {
    const absl::StatusOr<bool> more = NextLine(line);
    if (!more.ok() || !*more) break;
    survey.Add(line);
  }
  survey.Finish();
}

absl::StatusOr<bool> JsonRecords::NextLine(absl::string_view& line) {
  while (true) {
    const absl::StatusOr<bool> more = lines_.Next(line);
    if (!more.ok() || !*more || !absl::StripAsciiWhitespace(line).empty()) return more;
  }
}

std::string JsonRecords::Place() const {
  return absl::StrCat(source_.name(), ":", lines_.number());
}

absl::StatusOr<bool> JsonRecords::Next(InputRecord& record) {
  if (ended_) return false;
  absl::string_view line;
  const absl::StatusOr<bool> more = NextLine(line);
  if (more.ok() && !*more) return false;
  if (!more.ok() && !IsOfFile(more.status())) return more.status();
  ended_ = !more.ok();
  record = {};
  record.all_invalid = ended_ && stream_.compression() != Compression::kNone;
  record.invalid = ended_ ? ReadNoFurther(more.status()) : features_.Read(line);
  record.invalid = AtPlace(record.invalid, source_.name(), Place());
  if (record.invalid.ok()) record.payload = features_.Serialize();
  return true;
}

}  // namespace penstock
