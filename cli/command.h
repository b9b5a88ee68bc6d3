// Shared by all subcommands of the `penstock` tool: how they report failures, and the exit codes 0
// (done), 1 (failed), 2 (used wrongly) and 128 + N (ended by signal N).
#ifndef PENSTOCK_CLI_COMMAND_H_
#define PENSTOCK_CLI_COMMAND_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace CLI {
class App;
}

namespace penstock {

// Adds subcommand `name`, whose --help ends with `example` (command lines, one per line). `manual`
// has blocks "Exit codes:", "Files:" and "Environment:" for its manual page (command_page.cc).
// After parsing the command line, main() runs the subcommand: Run() fills `outcome`.
//
//   void AddPackCommand(CLI::App& app, absl::Status& outcome) {
//     auto options = std::make_shared<PackOptions>();
//     CLI::App& command = AddCommand(app, "pack", "Write shards ...", "penstock pack ...");
//     command.add_option("--name", options->name, "...");
//     OnRun(command, outcome, [options] { return Pack(*options); });
//   }
CLI::App& AddCommand(CLI::App& app, const std::string& name, const std::string& description,
                     const std::string& example, const std::string& manual = "");

// Adds `help`. RunApp() prints the help of the command that its argument names.
void AddHelpCommand(CLI::App& app);

// `outcome` must outlive `command`'s app.
void OnRun(CLI::App& command, absl::Status& outcome, std::function<absl::Status()> run);

// Returns kInvalidArgument for a wrong combination of flags, which gives exit code 2. Annotate()
// keeps the mark.
absl::Status UsageError(absl::string_view message);

// Names the payload of a status that a signal caused: the signal's number in decimal.
inline constexpr char kSignalPayload[] = "penstock/signal";
// Names the payload of a status that a program's exit code caused. The command ends with the same
// code.
inline constexpr char kExitCodePayload[] = "penstock/exit_code";

// Returns 0, 1, 2 for UsageError(), 128 + N if signal N caused the status, or the code in
// kExitCodePayload.
int ExitCode(const absl::Status& status);

// Returns kAlreadyExists if `path` exists and must not be replaced. `force` is the value of
// --force.
absl::Status CheckReplaces(const std::string& path, bool force);

// Names the payload of a status whose message has several lines. In other messages a line feed is
// part of a name and is escaped.
inline constexpr char kLinesPayload[] = "penstock/lines";
// Returns the message as a terminal shows it.
std::string ShownMessage(const absl::Status& status);

// Prints "penstock: MESSAGE" to stderr unless `status` is OK; returns ExitCode(status).
int ReportAndExitCode(const absl::Status& status);

// Prints each warning on its own line of stderr.
void PrintWarnings(const std::vector<std::string>& warnings);

// Parses the command line and runs the subcommand that it names, whose result is in `outcome`.
// Prints help, version and errors; returns the exit code.
int RunApp(CLI::App& app, const absl::Status& outcome, int argc, const char* const* argv);

}  // namespace penstock

#endif  // PENSTOCK_CLI_COMMAND_H_
