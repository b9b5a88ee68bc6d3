#include "cli/command.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "base/flags/command_line.h"
#include "base/flags/help_command.h"
#include "base/print_escaped.h"
#include "base/process/standard_streams.h"
#include "base/terminal.h"

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

}  // namespace

CLI::App& AddCommand(CLI::App& app, const std::string& name, const std::string& description,
                     const std::string& example, const std::string& manual) {
  CLI::App& command = *app.add_subcommand(name, description);
  command.option_defaults()->always_capture_default();
  command.footer(absl::StrCat(Footer(example), "\n\n", manual));
  return command;
}

void AddHelpCommand(CLI::App& app) {
  CLI::App& command = AddCommand(app, kHelpCommand, kHelpDescription,
                                 "penstock help stream\npenstock help chess generate");
  command.group("Look up");
  AddHelpArgument(command);
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
  auto number_of = [&](const char* name) {
    const absl::optional<absl::Cord> payload = status.GetPayload(name);
    int number = 0;
    return payload.has_value() && absl::SimpleAtoi(std::string(*payload), &number) ? number : 0;
  };
  if (const int signal = number_of(kSignalPayload); signal != 0) return 128 + signal;
  if (const int code = number_of(kExitCodePayload); code != 0) return code;
  return status.GetPayload(kUsagePayload).has_value() ? 2 : 1;
}

void PrintWarnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) {
    PrintWarning("penstock", warning);
  }
}

std::string ShownMessage(const absl::Status& status) {
  const bool lines = status.GetPayload(kLinesPayload).has_value();
  return lines ? Escaped(Multiline(status.message())) : Escaped(status.message());
}

int ReportAndExitCode(const absl::Status& status) {
  if (!status.ok()) {
    PrintError("penstock", Multiline(ShownMessage(status)));
  }
  return ExitCode(status);
}

namespace {

// Returns UsageError() if the first argument should be a command and no command has that name.
absl::Status CheckCommandName(CLI::App& app, int argc, const char* const* argv) {
  if (argc < 2 || argv[1][0] == '-') return absl::OkStatus();
  const absl::string_view name = argv[1];
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  if (names.empty() || std::count(names.begin(), names.end(), name) > 0) return absl::OkStatus();
  return UsageError(NoSuchCommand(name, names));
}

// Appends "chess", "chess generate" and so on: the names of all commands below `parent`.
void AppendCommands(const CLI::App& parent, const std::string& before,
                    std::vector<std::string>& names) {
  for (const CLI::App* command : parent.get_subcommands({})) {
    const std::string name = before + command->get_name();
    names.push_back(name);
    AppendCommands(*command, name + " ", names);
  }
}

// Returns UsageError() if the words after `help` are not the name of a command.
absl::Status CheckCommandOfHelp(const CLI::App& app, int argc, const char* const* argv) {
  const std::string name = CommandOfHelp(argc, argv);
  if (name.empty()) return absl::OkStatus();
  std::vector<std::string> names;
  AppendCommands(app, "", names);
  if (std::count(names.begin(), names.end(), name) > 0) return absl::OkStatus();
  return UsageError(NoSuchCommand(name, names));
}

}  // namespace

absl::Status CheckReplaces(const std::string& path, bool force) {
  if (force || access(path.c_str(), F_OK) != 0) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat(path, " exists; --force replaces it"));
}

int RunApp(CLI::App& app, const absl::Status& outcome, int argc, const char* const* argv) {
  if (absl::Status known = CheckCommandOfHelp(app, argc, argv); !known.ok()) {
    return ReportAndExitCode(known);
  }
  const std::vector<const char*> words = WithHelpAsOption(argc, argv);
  argc = static_cast<int>(words.size());
  if (absl::Status known = CheckCommandName(app, argc, words.data()); !known.ok()) {
    return ReportAndExitCode(known);
  }
  if (const auto code = ParseCommandLine(app, "penstock", argc, words.data())) return *code;
  const absl::Status printed = FlushStandardOutput();
  return ReportAndExitCode(outcome.ok() ? printed : outcome);
}

}  // namespace penstock
