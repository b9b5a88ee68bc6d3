#include "cli/pack/shard_notes.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/print_escaped.h"

namespace penstock {
namespace {

// Parses the number at the front of `line` and removes it with the space after it.
bool TakeNumber(absl::string_view& line, uint64_t& number) {
  const size_t space = line.find(' ');
  if (space == line.npos || !absl::SimpleAtoi(line.substr(0, space), &number)) return false;
  line.remove_prefix(space + 1);
  return true;
}

}  // namespace

void ShardNotes::Skip(uint64_t index, absl::string_view reason) {
  if (num_skipped++ < kMaxListed) skipped.push_back({index, Escaped(reason)});
}

// Writes "RECORDS NUM_SKIPPED", then "INDEX REASON" for each listed record.
std::string ShardNotes::Serialize() const {
  std::string text = absl::StrCat(records, " ", num_skipped, "\n");
  for (const SkippedRecord& record : skipped) {
    absl::StrAppend(&text, record.index, " ", record.reason, "\n");
  }
  return text;
}

absl::StatusOr<ShardNotes> ShardNotes::Parse(absl::string_view text) {
  ShardNotes notes;
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  bool good = lines.back().empty() && TakeNumber(lines[0], notes.records) &&
              absl::SimpleAtoi(lines[0], &notes.num_skipped);
  for (size_t i = 1; good && i + 1 < lines.size(); ++i) {
    SkippedRecord& record = notes.skipped.emplace_back();
    good = TakeNumber(lines[i], record.index);
    record.reason = std::string(lines[i]);
  }
  if (good) return notes;
  return absl::DataLossError("these are no notes about a shard");
}

}  // namespace penstock
