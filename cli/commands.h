// One function for each subcommand of `penstock`, in NAME_command.cc; main.cc calls them all. Each
// adds its subcommand to `app`. Running the subcommand fills `outcome` (see command.h).
#ifndef PENSTOCK_CLI_COMMANDS_H_
#define PENSTOCK_CLI_COMMANDS_H_

#include "cli/command.h"
#include "cli/launch/launch_line.h"

namespace penstock {

void AddBenchCommand(CLI::App& app, absl::Status& outcome);
void AddChessCommand(CLI::App& app, absl::Status& outcome);
void AddDecodeCommand(CLI::App& app, absl::Status& outcome);
void AddFeedCommand(CLI::App& app, absl::Status& outcome);
void AddIndexCommand(CLI::App& app, absl::Status& outcome);
void AddInspectCommand(CLI::App& app, absl::Status& outcome);
// `line` has the program to start and the options that CLI11 must not parse.
void AddLaunchCommand(CLI::App& app, absl::Status& outcome, LaunchLine line);
void AddPackCommand(CLI::App& app, absl::Status& outcome);
void AddSizeCommand(CLI::App& app, absl::Status& outcome);
void AddStreamCommand(CLI::App& app, absl::Status& outcome);
void AddTopCommand(CLI::App& app, absl::Status& outcome);
void AddWhichCommand(CLI::App& app, absl::Status& outcome);

}  // namespace penstock

#endif  // PENSTOCK_CLI_COMMANDS_H_
