#include "base/flags/command_page.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace penstock {
namespace {

// Groups that are not named here come between the named ones and "Help".
constexpr const char* kGroupOrder[] = {
    "Arguments",   "Options", "Data",     "Order",    "Images", "Model",
    "Optimizer",   "Servers", "Security", "Decoding", "Ranks",  "Devices",
    "Checkpoints", "Output",  "Metrics",  "Logging",  "Tuning"};
constexpr char kArguments[] = "Arguments";
constexpr char kLastGroup[] = "Help";

size_t PlaceOf(const std::string& group) {
  if (group == kLastGroup) return std::size(kGroupOrder) + 1;
  return static_cast<size_t>(std::find(std::begin(kGroupOrder), std::end(kGroupOrder), group) -
                             std::begin(kGroupOrder));
}

std::string OneLine(absl::string_view text) {
  return absl::StrJoin(absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty()), " ");
}

// CLI11 names the type of an option after the type of the variable that stores it.
std::string Placeholder(absl::string_view type) {
  if (type == "UINT" || type == "INT") return "N";
  if (type == "FLOAT") return "X";
  if (type == "TEXT") return "VALUE";
  return std::string(type);
}

// `rule` is "{a,b}", "0..1024" or "POSITIVE": validators describe themselves in this form.
void AddRule(absl::string_view rule, OptionRow& row) {
  if (absl::ConsumePrefix(&rule, "{") && absl::ConsumeSuffix(&rule, "}")) {
    row.choices = absl::StrSplit(rule, ',');
  } else if (rule == "POSITIVE") {
    row.range = "above 0";
  } else if (const size_t dots = rule.find(".."); dots != absl::string_view::npos) {
    row.range = absl::StrCat(rule.substr(0, dots), " to ", rule.substr(dots + 2));
  }
}

void AddType(const CLI::Option& option, OptionRow& row) {
  const std::vector<std::string> parts = absl::StrSplit(option.get_type_name(), ':');
  row.placeholder = Placeholder(parts.front());
  for (size_t i = 1; i < parts.size(); ++i) AddRule(parts[i], row);
  if (!option.get_required()) row.default_value = option.get_default_str();
  if (row.default_value == "[]" || row.default_value == "\"\"") row.default_value.clear();
  row.repeated = option.get_expected_max() >= CLI::detail::expected_max_vector_size;
}

std::vector<std::string> NamesOf(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

OptionRow DescribeOption(const CLI::Option& option) {
  OptionRow row;
  row.names = NamesOf(option);
  row.description = OneLine(option.get_description());
  if (option.get_type_size() != 0) AddType(option, row);
  row.variable = option.get_envname();
  row.required = option.get_required();
  for (const CLI::Option* other : option.get_excludes()) row.excludes = other->get_name();
  return row;
}

// Returns the group with this title. If there is none, adds it at the end.
template <typename Group>
Group& GroupOf(const std::string& title, std::vector<Group>& groups) {
  const auto group = std::ranges::find(groups, title, &Group::title);
  return group != groups.end() ? *group : groups.emplace_back(Group{title, {}});
}

void AddRow(const std::string& title, OptionRow row, CommandPage& page) {
  GroupOf(title, page.groups).options.push_back(std::move(row));
}

std::string ArgumentName(const CLI::Option& option, const OptionRow& row) {
  return absl::StartsWith(option.get_type_name(), "TEXT")
             ? absl::AsciiStrToUpper(option.get_name(/*positional=*/true))
             : row.placeholder;
}

// An argument, which may have the name of an option as well: "manifest,--manifest".
void AddArgument(const CLI::Option& option, CommandPage& page) {
  OptionRow row = DescribeOption(option);
  const std::string name = ArgumentName(option, row);
  OptionRow as_option;
  as_option.names = std::exchange(row.names, {name});
  AddRow(kArguments, std::move(row), page);
  if (as_option.names.empty()) return;
  as_option.placeholder = name;
  as_option.description = absl::StrCat("The same as the argument ", name);
  AddRow("Data", std::move(as_option), page);
}

void AddOptions(const CLI::App& app, CommandPage& page) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    const bool help = option == app.get_help_ptr() || option->check_name("--version");
    if (option->get_positional()) {
      AddArgument(*option, page);
    } else {
      AddRow(help ? kLastGroup : option->get_group(), DescribeOption(*option), page);
    }
  }
  std::stable_sort(page.groups.begin(), page.groups.end(),
                   [](const OptionGroup& a, const OptionGroup& b) {
                     return PlaceOf(a.title) < PlaceOf(b.title);
                   });
}

std::string FirstSentence(const std::string& text) {
  const size_t end = text.find(". ");
  const absl::string_view first = absl::string_view(text).substr(0, end);
  return std::string(absl::StripSuffix(first, "."));
}

void AddCommands(const CLI::App& app, CommandPage& page) {
  for (const CLI::App* command : app.get_subcommands({})) {
    const std::string& title = command->get_group();
    if (title.empty()) continue;
    GroupOf(title, page.commands)
        .commands.push_back(
            {command->get_name(), FirstSentence(OneLine(command->get_description()))});
  }
}

// Parses lines "  TERM: MEANING".
std::vector<ManualEntry> EntriesOf(absl::string_view lines) {
  std::vector<ManualEntry> entries;
  for (absl::string_view line : absl::StrSplit(lines, '\n')) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(absl::StripLeadingAsciiWhitespace(line), absl::MaxSplits(": ", 1));
    entries.push_back({parts.first, parts.second});
  }
  return entries;
}

bool AddManualSection(absl::string_view block, CommandPage& page) {
  if (absl::ConsumePrefix(&block, "Exit codes:\n")) {
    page.exit_codes = EntriesOf(block);
  } else if (absl::ConsumePrefix(&block, "Files:\n")) {
    page.files = EntriesOf(block);
  } else if (absl::ConsumePrefix(&block, "Environment:\n")) {
    page.environment = EntriesOf(block);
  } else {
    return false;
  }
  return true;
}

// The footer of an App has blocks with an empty line between: "Example:" and indented lines of a
// shell; "Exit codes:", "Files:" or "Environment:" and indented lines for the manual; paragraphs.
void AddFooter(const std::string& footer, CommandPage& page) {
  for (absl::string_view block : absl::StrSplit(footer, "\n\n", absl::SkipEmpty())) {
    if (AddManualSection(block, page)) continue;
    if (!absl::ConsumePrefix(&block, "Example:\n")) {
      page.notes.push_back(OneLine(block));
      continue;
    }
    for (const absl::string_view line : absl::StrSplit(block, '\n')) {
      page.examples.emplace_back(absl::StripPrefix(line, "  "));
    }
  }
}

std::string FullName(const CLI::App& app) {
  if (app.get_parent() == nullptr) return app.get_name();
  return absl::StrCat(FullName(*app.get_parent()), " ", app.get_name());
}

std::string Usage(const CommandPage& page) {
  std::string usage = page.name;
  if (!page.commands.empty()) return usage + " COMMAND [OPTIONS]";
  for (const OptionGroup& group : page.groups) {
    for (const OptionRow& row : group.options) {
      if (row.required && group.title != kArguments) {
        absl::StrAppend(&usage, " ", row.names.back(), " ", row.placeholder);
      }
    }
  }
  absl::StrAppend(&usage, " [OPTIONS]");
  for (const OptionGroup& group : page.groups) {
    if (group.title != kArguments) continue;
    for (const OptionRow& row : group.options) {
      const std::string name = row.names.front() + (row.repeated ? "..." : "");
      absl::StrAppend(&usage, " ", row.required ? name : "[" + name + "]");
    }
  }
  return usage;
}

void AddPages(const CLI::App& app, std::vector<CommandPage>& pages) {
  pages.push_back(DescribeCommand(app));
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!command->get_group().empty()) AddPages(*command, pages);
  }
}

}  // namespace

CommandPage DescribeCommand(const CLI::App& app) {
  CommandPage page;
  page.name = FullName(app);
  page.description = OneLine(app.get_description());
  AddOptions(app, page);
  AddCommands(app, page);
  page.usage = Usage(page);
  AddFooter(app.get_footer(), page);
  return page;
}

std::string UsageOf(const CLI::Option& option) {
  const OptionRow row = DescribeOption(option);
  if (option.get_positional()) return ArgumentName(option, row) + (row.repeated ? "..." : "");
  return absl::StrCat(row.names.back(), row.placeholder.empty() ? "" : " ", row.placeholder);
}

std::vector<CommandPage> DescribeCommands(const CLI::App& app) {
  std::vector<CommandPage> pages;
  AddPages(app, pages);
  return pages;
}

}  // namespace penstock
