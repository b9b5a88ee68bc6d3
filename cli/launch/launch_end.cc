#include "cli/launch/launch_end.h"

#include <csignal>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/command.h"

namespace penstock {
namespace {

// Returns the number that follows `mark`.
std::optional<size_t> NumberAfter(absl::string_view line, absl::string_view mark) {
  const size_t at = line.find(mark);
  if (at == absl::string_view::npos) return std::nullopt;
  absl::string_view digits = line.substr(at + mark.size());
  size_t length = 0;
  while (length < digits.size() && absl::ascii_isdigit(digits[length])) ++length;
  size_t number = 0;
  if (!absl::SimpleAtoi(digits.substr(0, length), &number)) return std::nullopt;
  return number;
}

// Parses "Exited with exit code 7" or "Killed". The exit code of srun itself is the highest code of
// all ranks, possibly of one that srun ended.
std::optional<int> CodeOfTask(absl::string_view how) {
  if (const std::optional<size_t> code = NumberAfter(how, "Exited with exit code ")) {
    return static_cast<int>(*code);
  }
  for (int signal = 1; signal < SIGRTMIN; ++signal) {
    if (absl::StartsWith(how, strsignal(signal))) return 128 + signal;
  }
  return std::nullopt;
}

std::optional<Blame> BlameOf(absl::string_view line) {
  std::optional<size_t> rank;
  // "mpirun noticed that process rank 1 with PID 0 on node a exited on signal 9 (Killed)."
  if (absl::StartsWith(line, "mpirun noticed")) rank = NumberAfter(line, "process rank ");
  // "  Process name: [[12410,1],1]", below "The first process to do so was:".
  if (absl::StartsWith(line, "  Process name: [[")) rank = NumberAfter(line, "],");
  if (rank.has_value()) return Blame{*rank};
  // "srun: error: a: task 1: Exited with exit code 7"
  if (!absl::StartsWith(line, "srun: error: ")) return std::nullopt;
  rank = NumberAfter(line, ": task ");
  if (!rank.has_value()) return std::nullopt;
  return Blame{*rank, CodeOfTask(line.substr(line.rfind(": ") + 2))};
}

// Returns N for a code 128 + N, which shells and launchers use if signal N ended their child.
// Otherwise 0.
int SignalOf(int code) {
  const int signal = code - 128;
  const bool is_signal = (signal > 0 && signal < 32) || (signal >= SIGRTMIN && signal <= SIGRTMAX);
  return is_signal ? signal : 0;
}

std::string Describe(const RanksEnd::Failure& failure, absl::string_view who) {
  const int signal = SignalOf(failure.code);
  std::string text =
      signal > 0 ? absl::StrCat(who, " was ended by signal ", signal, " (", strsignal(signal), ")")
                 : absl::StrCat(who, " failed with exit code ", failure.code);
  std::vector<std::string> told;
  if (!failure.first_error_lines.empty()) {
    told.push_back(absl::StrCat("its first lines on stderr:\n  ",
                                absl::StrJoin(failure.first_error_lines, "\n  ")));
  }
  if (!failure.last_lines.empty()) {
    told.push_back(absl::StrCat("its last lines:\n  ", absl::StrJoin(failure.last_lines, "\n  ")));
  }
  if (!told.empty()) absl::StrAppend(&text, "; ", absl::StrJoin(told, "\nand "));
  return text;
}

absl::Status ToStatus(const RanksEnd::Failure& failure, absl::string_view who) {
  const std::string text = Describe(failure, who);
  absl::Status status = failure.code == 2 ? UsageError(text) : absl::AbortedError(text);
  status.SetPayload(kLinesPayload, absl::Cord());
  if (failure.code == 2) return status;
  status.SetPayload(kExitCodePayload, absl::Cord(absl::StrCat(failure.code)));
  return status;
}

}  // namespace

std::optional<Blame> FindBlame(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    if (const std::optional<Blame> blame = BlameOf(line)) return blame;
  }
  return std::nullopt;
}

absl::Status ToStatus(const RanksEnd& end, absl::string_view launcher) {
  if (!end.failure.has_value()) return absl::OkStatus();
  RanksEnd::Failure failure = *end.failure;
  if (launcher == "local") return ToStatus(failure, absl::StrCat("rank ", failure.rank));
  std::optional<Blame> blame = FindBlame(failure.last_lines);
  if (!blame.has_value()) blame = FindBlame(failure.first_error_lines);
  if (!blame.has_value()) return ToStatus(failure, launcher);
  failure.code = blame->code.value_or(failure.code);
  return ToStatus(failure, absl::StrCat(launcher, ": rank ", blame->rank));
}

}  // namespace penstock
