// penstock-train: one rank of a training, fed by preprocessing servers.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "base/flags/command_line.h"
#include "base/flags/help_command.h"
#include "base/print_escaped.h"
#include "base/process/keep_freed_memory.h"
#include "base/process/process_limits.h"
#include "base/process/standard_streams.h"
#include "base/terminal.h"
#include "penstock_version.h"
#include "trainer/app/commands.h"
#include "trainer/app/input_options.h"
#include "trainer/app/options.h"
#include "trainer/app/run.h"

namespace {

int Fail(int code, const std::string& message) {
  penstock::PrintError("penstock-train", message);
  return code;
}

// Returns the exit code if everything succeeded except possibly the printing.
int Printed() {
  const absl::Status status = penstock::FlushStandardOutput();
  return status.ok() ? 0 : Fail(1, std::string(status.message()));
}

constexpr char kExample[] =
    "Example:\n"
    "  penstock index data --holdout 5%\n"
    "  penstock-train data --servers 10.0.0.1:7070,10.0.0.2:7070 \\\n"
    "      --model tiny --epochs 4 --lr 1e-3 --lr-schedule cosine \\\n"
    "      --warmup-steps 20 --checkpoint-dir checkpoints\n\n"
    "Exit codes:\n"
    "  0: The training is complete, or SIGTERM, SIGHUP or SIGUSR1 stopped it and it saved a "
    "checkpoint (--stopped-exit-code changes the latter).\n"
    "  130: Ctrl-C stopped it and it saved a checkpoint.\n"
    "  128 + N: A second signal N stopped it; nothing was saved.\n\n"
    "Files:\n"
    "  DIR/step-000000100.ckpt: A checkpoint in the folder of --checkpoint-dir.\n"
    "  DIR/best.ckpt: The weights with the lowest held-out loss.\n\n"
    "Environment:\n"
    "  RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE: This rank and the number of ranks, as "
    "torchrun sets them. Those of Open MPI, Slurm and PMI are known too.\n"
    "  PENSTOCK_RENDEZVOUS: Where ranks meet, unless --rendezvous is given.\n"
    "  PENSTOCK_CUDA_LIBS: Folder of CUDA's libraries.";

int Run(penstock::TrainerOptions options) {
  absl::Status valid = penstock::Complete(options);
  if (valid.ok()) valid = penstock::CheckInput(options);
  if (!valid.ok()) {
    Fail(2, std::string(valid.message()));
    penstock::PrintEscaped(stderr, "Run with --help for the options.\n");
    return 2;
  }
  const absl::StatusOr<penstock::RunResult> result = penstock::RunTraining(options);
  if (!result.ok()) {
    return Fail(1, penstock::RankMark(options.rank) + std::string(result.status().message()));
  }
  const bool stopped = result->summary.stopped;
  const int code = result->signal == SIGINT ? 130
                   : stopped                ? static_cast<int>(options.stopped_exit_code)
                                            : 0;
  if (stopped && result->summary.step == 0) {
    return Fail(code, penstock::RankMark(options.rank) + "interrupted before the first step" +
                          (result->why.empty() ? "" : ": " + result->why));
  }
  const int printed = Printed();
  return code == 0 ? printed : code;
}

// A command with options of its own.
struct Command {
  std::string name;
  std::string about;
  // Adds its options to the app, and returns the function that runs it once they are parsed.
  std::function<std::function<int()>(CLI::App&)> add;
};

template <typename Options>
Command MakeCommand(const char* name, const char* about, void (*add_options)(CLI::App&, Options&),
                    absl::Status (*run)(const Options&),
                    absl::Status (*check)(const Options&) = nullptr) {
  return {name, about, [=](CLI::App& app) {
            auto options = std::make_shared<Options>();
            add_options(app, *options);
            return [=] {
              const absl::Status usage = check == nullptr ? absl::OkStatus() : check(*options);
              if (!usage.ok()) return Fail(penstock::kUsageExitCode, std::string(usage.message()));
              const absl::Status status = run(*options);
              return status.ok() ? Printed() : Fail(1, std::string(status.message()));
            };
          }};
}

Command HelpCommand() {
  return {penstock::kHelpCommand, penstock::kHelpDescription, [](CLI::App& app) {
            penstock::AddHelpArgument(app);
            app.footer("Example:\n  penstock-train help predict");
            return [] { return 0; };
          }};
}

std::vector<Command> Commands() {
  using namespace penstock;
  return {
      MakeCommand("devices", "List the devices, libraries and links of this machine",
                  AddDevicesOptions, RunDevices),
      MakeCommand("evaluate",
                  "Print the loss of a checkpoint's model on records, and its accuracy for images",
                  AddEvaluateOptions, RunEvaluate, CheckEvaluate),
      MakeCommand("export", "Write the weights of a checkpoint as a safetensors file",
                  AddExportOptions, RunExport),
      HelpCommand(),
      MakeCommand("predict", "Apply a checkpoint's model to positions, image files or records",
                  AddPredictOptions, RunPredict, CheckPredict),
      MakeCommand("products", "Measure how fast a GPU multiplies a model's matrices",
                  AddProductsOptions, RunProducts)};
}

int RunCommand(const Command& command, int argc, const char* const* argv) {
  CLI::App app(command.about, "penstock-train " + command.name);
  const std::function<int()> run = command.add(app);
  if (const auto code = penstock::ParseCommandLine(app, "penstock-train", argc, argv)) return *code;
  return run();
}

// Reports that `help NAME` names no command, and returns the exit code.
int HelpFails(const std::string& name, const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name);
  return Fail(penstock::kUsageExitCode, penstock::NoSuchCommand(name, names));
}

std::vector<penstock::CommandPage> Pages(const std::vector<Command>& commands) {
  std::vector<penstock::CommandPage> pages;
  for (const Command& command : commands) {
    CLI::App app(command.about, "penstock-train " + command.name);
    command.add(app);
    pages.push_back(penstock::DescribeCommand(app));
  }
  return pages;
}

int Train(const std::vector<Command>& commands, int argc, const char* const* argv) {
  penstock::TrainerOptions options;
  CLI::App app("Train a model on batches from preprocessing servers.", "penstock-train");
  app.set_version_flag("--version",
                       "penstock-train " PENSTOCK_VERSION " (commit " PENSTOCK_COMMIT ")",
                       "Print the version and exit");
  app.footer(kExample);
  penstock::AddOptions(app, options);
  const auto pages = [&commands] { return Pages(commands); };
  if (const auto code = penstock::ParseCommandLine(app, "penstock-train", argc, argv, pages)) {
    return *code;
  }
  if (options.print_config) {
    penstock::PrintEscaped(
        stdout, "%s",
        penstock::Multiline(app.config_to_str(/*default_also=*/true, /*write_description=*/true)));
    return Printed();
  }
  options.config = app.config_to_str(/*default_also=*/true, /*write_description=*/false);
  return Run(std::move(options));
}

}  // namespace

int main(int argc, char** argv) {
  penstock::HoldStandardStreams();
  penstock::KeepFreedMemory();
  penstock::UseOneArenaUnderAnAddressLimit();
  // Exceeding a file size limit must be an error of write(), not a signal.
  std::signal(SIGXFSZ, SIG_IGN);
  // So must a rank that has gone away.
  std::signal(SIGPIPE, SIG_IGN);
  // During training this signal asks to stop. After everything is saved, it has no effect.
  std::signal(SIGUSR1, SIG_IGN);
  // A broken connection is reported as a status with its cause; gRPC would report it again.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  const std::vector<const char*> words = penstock::WithHelpAsOption(argc, argv);
  const auto num_words = static_cast<int>(words.size());
  const std::vector<Command> commands = Commands();
  const std::string asked = penstock::CommandOfHelp(argc, argv);
  const auto is_asked = [&](const Command& command) { return command.name == asked; };
  if (!asked.empty() && std::ranges::none_of(commands, is_asked)) {
    return HelpFails(asked, commands);
  }
  for (const Command& command : commands) {
    if (num_words > 1 && words[1] == command.name) {
      return RunCommand(command, num_words - 1, words.data() + 1);
    }
  }
  return Train(commands, num_words, words.data());
}
