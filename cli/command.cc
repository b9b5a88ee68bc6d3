#include "cli/command.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/optional.h"
#include "cli/number_flags.h"

namespace penstock {
namespace {

constexpr char kUsagePayload[] = "penstock/usage";

std::string Footer(const std::string& example) {
  std::string footer = "Example:\n  ";
  for (char c : example) {
    footer += c;
    if (c == '\n') footer += "  ";
  }
  return footer;
}

int ReportParseError(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version.
  std::fprintf(stderr, "penstock: %s\nRun with --help for the options.\n", error.what());
  return 2;
}

}  // namespace

CLI::App& AddCommand(CLI::App& app, const std::string& name, const std::string& description,
                     const std::string& example) {
  CLI::App& command = *app.add_subcommand(name, description);
  command.option_defaults()->always_capture_default();
  command.footer(Footer(example));
  return command;
}

void OnRun(CLI::App& command, absl::Status& outcome, std::function<absl::Status()> run) {
  command.callback([&outcome, run = std::move(run)] { outcome = run(); });
}

absl::Status UsageError(absl::string_view message) {
  absl::Status status = absl::InvalidArgumentError(message);
  status.SetPayload(kUsagePayload, absl::Cord());
  return status;
}

int ExitCode(const absl::Status& status) {
  if (status.ok()) return 0;
  const absl::optional<absl::Cord> signal = status.GetPayload(kSignalPayload);
  int number = 0;
  if (signal.has_value() && absl::SimpleAtoi(std::string(*signal), &number)) return 128 + number;
  return status.GetPayload(kUsagePayload).has_value() ? 2 : 1;
}

int ReportAndExitCode(const absl::Status& status) {
  if (!status.ok()) {
    std::fprintf(stderr, "penstock: %s\n", std::string(status.message()).c_str());
  }
  return ExitCode(status);
}

namespace {

// Of options that have no check of their own.
void CheckWholeNumbers(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_type_name() == "UINT") option->check(WholeNumber());
  }
  for (CLI::App* command : app.get_subcommands({})) CheckWholeNumbers(*command);
}

// How many letters to insert, remove or replace (Levenshtein).
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

// UsageError() if the first argument is to be a command and there is none of that name.
absl::Status CheckCommandName(CLI::App& app, int argc, const char* const* argv) {
  if (argc < 2 || argv[1][0] == '-') return absl::OkStatus();
  const absl::string_view name = argv[1];
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  if (names.empty() || std::count(names.begin(), names.end(), name) > 0) return absl::OkStatus();
  const auto nearest = std::min_element(names.begin(), names.end(), [&](auto& a, auto& b) {
    return EditDistance(name, a) < EditDistance(name, b);
  });
  const bool alike = EditDistance(name, *nearest) <= std::max<size_t>(1, nearest->size() / 3);
  return UsageError(absl::StrCat("there is no command '", name, "'",
                                 alike ? absl::StrCat("; did you mean '", *nearest, "'?") : ".",
                                 " The commands are: ", absl::StrJoin(names, ", ")));
}

}  // namespace

int RunApp(CLI::App& app, const absl::Status& outcome, int argc, const char* const* argv) {
  if (absl::Status known = CheckCommandName(app, argc, argv); !known.ok()) {
    return ReportAndExitCode(known);
  }
  CheckWholeNumbers(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return ReportParseError(app, error);
  }
  if (std::fflush(stdout) != 0 && outcome.ok()) {
    return ReportAndExitCode(absl::UnavailableError("standard output cannot be written"));
  }
  return ReportAndExitCode(outcome);
}

}  // namespace penstock
