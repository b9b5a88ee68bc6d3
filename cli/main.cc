// The `penstock` tool: makes, shows and reads datasets.
#include <csignal>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "base/process/keep_freed_memory.h"
#include "base/process/process_limits.h"
#include "base/process/standard_streams.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/launch/launch_line.h"
#include "penstock_version.h"

int main(int argc, char** argv) {
  penstock::HoldStandardStreams();
  penstock::KeepFreedMemory();
  penstock::UseOneArenaUnderAnAddressLimit();
  // A full disk under a file size limit must be an error of write(), not a signal.
  std::signal(SIGXFSZ, SIG_IGN);
  // The client reports a broken connection as a status that names its cause. gRPC would report it
  // once more.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  // A reader that went away must be an error of write() too: `penstock inspect shard | head`.
  std::signal(SIGPIPE, SIG_IGN);

  CLI::App app("Make, inspect and read datasets for penstock-server and penstock-train.",
               "penstock");
  app.set_version_flag("--version", "penstock " PENSTOCK_VERSION " (commit " PENSTOCK_COMMIT ")",
                       "Print the version and exit");
  app.require_subcommand(1);
  app.footer("`penstock help COMMAND` shows a command's options and an example.");

  absl::Status outcome;
  // Help shows groups of commands in the order in which their first commands are added.
  penstock::AddPackCommand(app, outcome);
  penstock::AddIndexCommand(app, outcome);
  penstock::AddChessCommand(app, outcome);
  penstock::AddInspectCommand(app, outcome);
  penstock::AddDecodeCommand(app, outcome);
  penstock::AddWhichCommand(app, outcome);
  penstock::AddStreamCommand(app, outcome);
  penstock::AddBenchCommand(app, outcome);
  penstock::AddSizeCommand(app, outcome);
  penstock::LaunchLine line = penstock::SplitLaunchLine({argv + 1, argv + argc});
  const std::vector<std::string> words = std::move(line.arguments);
  penstock::AddLaunchCommand(app, outcome, std::move(line));
  penstock::AddTopCommand(app, outcome);
  penstock::AddFeedCommand(app, outcome);
  penstock::AddHelpCommand(app);
  std::vector<const char*> arguments = {argv[0]};
  for (const std::string& word : words) arguments.push_back(word.c_str());
  return penstock::RunApp(app, outcome, static_cast<int>(arguments.size()), arguments.data());
}
