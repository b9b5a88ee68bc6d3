#include "base/flags/parse_message.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/flags/command_page.h"

namespace penstock {
namespace {

// The smallest number of letters to insert, remove, replace or swap with the next one.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  std::iota(d[0].begin(), d[0].end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      d[i][j] = std::min({replaced, d[i - 1][j] + 1, d[i][j - 1] + 1});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d.back().back();
}

// The shortest name that begins with `word`; "" if none does, or `word` is too short to tell.
std::string Begun(absl::string_view word, const std::vector<std::string>& names) {
  std::string shortest;
  for (const std::string& name : names) {
    if (word.size() < 3 || !absl::StartsWith(name, word)) continue;
    if (shortest.empty() || name.size() < shortest.size()) shortest = name;
  }
  return shortest;
}

// The parts of a name, such as "batch-size" and "batch" of "global-batch-size".
std::vector<std::string> PartsOf(absl::string_view name) {
  const std::vector<absl::string_view> words = absl::StrSplit(name, '-');
  std::vector<std::string> parts;
  for (auto first = words.begin(); first != words.end(); ++first) {
    for (auto end = first + 1; end <= words.end(); ++end) {
      parts.push_back(absl::StrJoin(first, end, "-"));
    }
  }
  return parts;
}

// The distance to the part of `name` that is most similar; SIZE_MAX if none is similar.
size_t DistanceToPart(absl::string_view word, absl::string_view name) {
  size_t least = SIZE_MAX;
  for (const std::string& part : PartsOf(name)) {
    const size_t distance = EditDistance(word, part);
    if (distance <= part.size() / 4) least = std::min(least, distance);
  }
  return least;
}

// The name with the most similar part; "" if several names have a part that is as similar.
std::string NearestByPart(absl::string_view word, const std::vector<std::string>& names) {
  size_t least = SIZE_MAX;
  std::string nearest;
  for (const std::string& name : names) {
    const size_t distance = DistanceToPart(word, name);
    if (distance < least) {
      nearest = name;
    } else if (distance == least) {
      nearest.clear();
    }
    least = std::min(least, distance);
  }
  return nearest;
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
  const auto nearest = std::ranges::min_element(
      names, {}, [&](const std::string& name) { return EditDistance(word, name); });
  if (nearest == names.end()) return "";
  const bool alike = EditDistance(word, *nearest) <= std::max<size_t>(1, nearest->size() / 3);
  if (alike) return *nearest;
  const std::string begun = Begun(word, names);
  return begun.empty() ? NearestByPart(word, names) : begun;
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
