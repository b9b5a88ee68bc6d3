#include "base/flags/help_text.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/wrap_words.h"

namespace penstock {
namespace {

constexpr size_t kLeastColumns = 40;
constexpr size_t kMostColumns = 100;  // Longer lines are hard to read.
constexpr size_t kDescriptionColumn = 28;
constexpr size_t kNoShortName = 4;  // The width of "-o, ".

// Adds "  DECLARATION   DESCRIPTION", with the description in a column of its own.
void AddEntry(const std::string& declaration, const std::string& description, size_t columns,
              std::string& text) {
  const std::string indent(kDescriptionColumn, ' ');
  std::string begin = "  " + declaration;
  if (begin.size() + 2 > kDescriptionColumn) {
    absl::StrAppend(&text, begin, description.empty() ? "" : "\n");
    begin.clear();
  }
  if (!description.empty()) {
    begin.resize(kDescriptionColumn, ' ');
    const std::vector<std::string> lines = WrapWords(description, columns - kDescriptionColumn);
    absl::StrAppend(&text, begin, absl::StrJoin(lines, "\n" + indent));
  }
  absl::StrAppend(&text, "\n");
}

std::string Description(const OptionRow& row) {
  const std::string remarks = Remarks(row);
  if (remarks.empty()) return row.description;
  return absl::StrCat(row.description, row.description.empty() ? "" : " ", "[", remarks, "]");
}

void AddOptions(const OptionGroup& group, size_t columns, std::string& text) {
  absl::StrAppend(&text, "\n", group.title, ":\n");
  for (const OptionRow& row : group.options) {
    const bool long_only = row.names.size() == 1 && row.names.front().substr(0, 2) == "--";
    AddEntry((long_only ? std::string(kNoShortName, ' ') : "") + Declaration(row), Description(row),
             columns, text);
  }
}

}  // namespace

std::string Declaration(const OptionRow& row) {
  std::string declaration = absl::StrJoin(row.names, ", ");
  if (row.names.front().front() == '-' && !row.placeholder.empty()) {
    absl::StrAppend(&declaration, " ", row.placeholder);
  }
  if (row.repeated) absl::StrAppend(&declaration, "...");
  return declaration;
}

std::string Remarks(const OptionRow& row) {
  std::vector<std::string> remarks;
  if (row.required) remarks.push_back("required");
  if (!row.choices.empty()) {
    remarks.push_back(absl::StrCat("one of: ", absl::StrJoin(row.choices, ", ")));
  }
  if (!row.range.empty()) remarks.push_back(row.range);
  if (!row.default_value.empty()) remarks.push_back(absl::StrCat("default: ", row.default_value));
  if (!row.variable.empty()) remarks.push_back(absl::StrCat("env: ", row.variable));
  if (!row.excludes.empty()) remarks.push_back(absl::StrCat("not with ", row.excludes));
  return absl::StrJoin(remarks, "; ");
}

std::string HelpText(const CommandPage& page, size_t columns) {
  columns = std::clamp(columns, kLeastColumns, kMostColumns);
  std::string text = absl::StrJoin(WrapWords(page.description, columns), "\n");
  absl::StrAppend(&text, "\n\nUsage: ", absl::StrJoin(WrapWords(page.usage, columns - 7, 4), "\n"),
                  "\n");
  for (const CommandGroup& group : page.commands) {
    absl::StrAppend(&text, "\n", group.title, ":\n");
    for (const CommandSummary& command : group.commands) {
      AddEntry(command.name, command.description, columns, text);
    }
  }
  for (const OptionGroup& group : page.groups) AddOptions(group, columns, text);
  if (!page.examples.empty()) absl::StrAppend(&text, "\nExample:\n");
  for (const std::string& line : page.examples) absl::StrAppend(&text, "  ", line, "\n");
  for (const std::string& note : page.notes) {
    absl::StrAppend(&text, "\n", absl::StrJoin(WrapWords(note, columns), "\n"), "\n");
  }
  return text;
}

}  // namespace penstock
