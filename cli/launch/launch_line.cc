#include "cli/launch/launch_line.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "cli/launch/foreign_options.h"

namespace penstock {
namespace {

// Maps the spellings of horovodrun and mpirun to ours; CLI11 would read -np as -n and -p.
std::string Spelled(const std::string& argument) {
  if (argument == "-np" || argument == "-n") return "--np";
  if (argument == "-hostfile" || argument == "-machinefile") return "--hostfile";
  if (argument == "-cb") return "--check-build";
  if (argument == "-host" || argument == "--host") return "--hosts";
  if (argument == "-prefix-timestamp" || argument == "--timestamp-output" ||
      argument == "-timestamp-output") {
    return "--prefix-output-with-timestamp";
  }
  if (argument == "-output-filename") return "--output-filename";
  return argument;
}

bool TakesValue(const std::string& argument) {
  static const auto* with_value = new std::set<std::string>{"--np",
                                                            "--num-proc",
                                                            "-H",
                                                            "--hosts",
                                                            "--hostfile",
                                                            "--gpus",
                                                            "--port",
                                                            "--restarts",
                                                            "--launcher",
                                                            "-p",
                                                            "--ssh-port",
                                                            "-i",
                                                            "--ssh-identity-file",
                                                            "-x",
                                                            "--start-timeout",
                                                            "--output-filename",
                                                            "--network-interface",
                                                            "--network-interfaces"};
  return with_value->contains(argument);
}

// Splits `value` at spaces like a shell, but without quotes.
absl::Status AppendWords(absl::string_view option, absl::string_view value,
                         std::vector<std::string>& words) {
  if (value.find_first_of("'\"\\") != absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        option,
        ": quotes are not supported; give mpirun's options directly, such as -mca NAME VALUE"));
  }
  for (absl::string_view word : absl::StrSplit(value, ' ', absl::SkipEmpty())) {
    words.emplace_back(word);
  }
  return absl::OkStatus();
}

// Handles an option that `values` follow.
absl::Status Take(const ForeignOption& option, const std::vector<std::string>& values,
                  LaunchLine& line) {
  switch (option.kind) {
    case ForeignOption::Kind::kNoEffect:
      if (option.why.empty()) return absl::OkStatus();
      line.notes.push_back(absl::StrCat(option.name, " is ignored: ", option.why));
      return absl::OkStatus();
    case ForeignOption::Kind::kMpirun:
      line.mpirun.emplace_back(option.name);
      line.mpirun.insert(line.mpirun.end(), values.begin(), values.end());
      return absl::OkStatus();
    case ForeignOption::Kind::kMpirunText:
      return AppendWords(option.name, absl::StrJoin(values, " "), line.mpirun);
    case ForeignOption::Kind::kRefused:
      return absl::InvalidArgumentError(absl::StrCat(option.name, ": ", option.why));
  }
  return absl::OkStatus();
}

// If arguments[i] is a foreign option, handles it with its values ("--name=value" or the words that
// follow) and leaves i at the last of them.
bool TakeForeign(const std::vector<std::string>& arguments, size_t& i, LaunchLine& line) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(arguments[i], absl::MaxSplits('=', 1));
  const ForeignOption* option = FindForeignOption(parts.first);
  if (option == nullptr) return false;
  std::vector<std::string> values;
  if (parts.first.size() < arguments[i].size()) values.push_back(parts.second);
  while (values.size() < static_cast<size_t>(option->values) && i + 1 < arguments.size()) {
    values.push_back(arguments[++i]);
  }
  line.status.Update(Take(*option, values, line));
  return true;
}

absl::StatusOr<LaunchHost> ParseHost(absl::string_view name, absl::string_view slots) {
  LaunchHost host{std::string(name)};
  if (name.empty()) return absl::InvalidArgumentError("a host has no name; write HOST:SLOTS");
  if (!slots.empty() && (!absl::SimpleAtoi(slots, &host.slots) || host.slots == 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "host ", name, ": \"", slots, "\" is not a number of ranks; write ", name, ":2"));
  }
  return host;
}

absl::StatusOr<LaunchHost> ParseHostWithColon(absl::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return ParseHost(text, "");
  if (colon + 1 == text.size()) return ParseHost(text.substr(0, colon), "(nothing)");
  return ParseHost(text.substr(0, colon), text.substr(colon + 1));
}

}  // namespace

LaunchLine SplitLaunchLine(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0] != "launch") return {arguments, {}};
  LaunchLine line{{arguments[0]}, {}};
  size_t i = 1;
  for (; i < arguments.size(); ++i) {
    const std::string argument = Spelled(arguments[i]);
    if (argument == "--") {
      ++i;
      break;
    }
    if (argument.empty() || argument[0] != '-') break;
    if (TakeForeign(arguments, i, line)) continue;
    line.arguments.push_back(argument);
    if (TakesValue(argument) && i + 1 < arguments.size()) {
      line.arguments.push_back(arguments[++i]);
    }
  }
  line.program.assign(arguments.begin() + static_cast<ptrdiff_t>(std::min(i, arguments.size())),
                      arguments.end());
  return line;
}

absl::StatusOr<std::vector<LaunchHost>> ParseHosts(absl::string_view text) {
  std::vector<LaunchHost> hosts;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    PENSTOCK_ASSIGN_OR_RETURN(LaunchHost host,
                              ParseHostWithColon(absl::StripAsciiWhitespace(part)));
    hosts.push_back(std::move(host));
  }
  return hosts;
}

absl::StatusOr<std::vector<LaunchHost>> ParseHostfile(absl::string_view text) {
  std::vector<LaunchHost> hosts;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    absl::string_view slots;
    for (size_t i = 1; i < words.size(); ++i) {
      absl::string_view word = words[i];
      if (absl::ConsumePrefix(&word, "slots=")) slots = word;
    }
    PENSTOCK_ASSIGN_OR_RETURN(
        LaunchHost host, slots.empty() ? ParseHostWithColon(words[0]) : ParseHost(words[0], slots));
    hosts.push_back(std::move(host));
  }
  if (hosts.empty()) return absl::InvalidArgumentError("the file names no host");
  return hosts;
}

absl::StatusOr<std::vector<LaunchHost>> PlaceRanks(std::vector<LaunchHost> hosts, uint32_t ranks) {
  uint32_t slots = 0;
  for (const LaunchHost& host : hosts) slots += host.slots;
  if (ranks > slots) {
    return absl::InvalidArgumentError(absl::StrCat("-np ", ranks, ": the hosts have ", slots,
                                                   " slots; give more, as HOST:SLOTS"));
  }
  uint32_t left = ranks == 0 ? slots : ranks;
  for (LaunchHost& host : hosts) {
    host.slots = std::min(host.slots, left);
    left -= host.slots;
  }
  std::erase_if(hosts, [](const LaunchHost& host) { return host.slots == 0; });
  return hosts;
}

}  // namespace penstock
