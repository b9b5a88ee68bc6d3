#include "base/flags/parse_message.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/flags/command_page.h"

namespace penstock {
namespace {

// Levenshtein distance: the fewest letters to insert, remove or replace.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

// `rest`: "--grace: never not in {short,long}", or the same with the name of an argument.
std::optional<std::string> NotAChoice(absl::string_view rest) {
  constexpr absl::string_view kNotIn = " not in {";
  const size_t colon = rest.find(": "), end = rest.rfind(kNotIn);
  if (!absl::ConsumeSuffix(&rest, "}") || end == absl::string_view::npos || colon >= end) {
    return std::nullopt;
  }
  const absl::string_view name = rest.substr(0, colon);
  const absl::string_view value = rest.substr(colon + 2, end - colon - 2);
  const std::vector<std::string> choices = absl::StrSplit(rest.substr(end + kNotIn.size()), ',');
  return absl::StrCat(name, "=", value, " is not one of ", absl::StrJoin(choices, ", "),
                      Meant("", value, choices));
}

std::string CommandMissing(const CLI::App& command, std::vector<std::string> commands) {
  for (const CLI::App* sub : command.get_subcommands({})) {
    if (!sub->get_group().empty()) commands.push_back(sub->get_name());
  }
  return absl::StrCat("no command is given; choose one of ", absl::StrJoin(commands, ", "));
}

std::string OptionMissing(const CLI::App& command, const std::string& name) {
  const CLI::Option* option = command.get_option_no_throw(name);
  if (option == nullptr) return absl::StrCat(name, " is missing");
  if (!option->get_positional()) return absl::StrCat(name, " is missing; give ", UsageOf(*option));
  return absl::StrCat("the argument ", UsageOf(*option), " is missing; the usage is ",
                      DescribeCommand(command).usage);
}

}  // namespace

std::string Nearest(absl::string_view word, const std::vector<std::string>& names) {
  const auto nearest = std::min_element(names.begin(), names.end(), [&](auto& a, auto& b) {
    return EditDistance(word, a) < EditDistance(word, b);
  });
  if (nearest == names.end()) return "";
  const bool begins = word.size() >= 3 && absl::StartsWith(*nearest, word);
  const bool alike = EditDistance(word, *nearest) <= std::max<size_t>(1, nearest->size() / 3);
  return alike || begins ? *nearest : "";
}

std::string Meant(absl::string_view mark, absl::string_view word,
                  const std::vector<std::string>& names) {
  const std::string nearest = Nearest(word, names);
  return nearest.empty() ? "" : absl::StrCat("; did you mean ", mark, nearest, "?");
}

std::string PlainMessage(const CLI::App& command, const CLI::ParseError& error,
                         const std::vector<std::string>& commands) {
  const std::string what = error.what();
  if (what == "A subcommand is required") return CommandMissing(command, commands);
  if (const std::optional<std::string> choice = NotAChoice(what)) return *choice;
  const std::string name = what.substr(0, what.find_first_of(": "));
  const CLI::Option* option = command.get_option_no_throw(name);
  absl::string_view rest = absl::StripPrefix(what, name);
  if (rest == " is required") return OptionMissing(command, name);
  if (option != nullptr && absl::StartsWith(rest, ": 1 required ")) {
    return absl::StrCat(name, " has no value; give ", UsageOf(*option));
  }
  if (absl::ConsumePrefix(&rest, " excludes ")) {
    return absl::StrCat(name, " and ", rest, " cannot be combined; leave out one of them");
  }
  return what;
}

}  // namespace penstock
