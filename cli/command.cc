#include "cli/command.h"

#include <cstdio>
#include <utility>

#include "absl/strings/cord.h"

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
  return status.GetPayload(kUsagePayload).has_value() ? 2 : 1;
}

int ReportAndExitCode(const absl::Status& status) {
  if (!status.ok()) {
    std::fprintf(stderr, "penstock: %s\n", std::string(status.message()).c_str());
  }
  return ExitCode(status);
}

namespace {

// Otherwise -1 would be read as 2^64 - 1.
void RefuseNegative(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_type_name() == "UINT") option->check(CLI::NonNegativeNumber);
  }
  for (CLI::App* command : app.get_subcommands({})) RefuseNegative(*command);
}

}  // namespace

int RunApp(CLI::App& app, const absl::Status& outcome, int argc, const char* const* argv) {
  RefuseNegative(app);
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
