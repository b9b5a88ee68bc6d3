// penstock-train: one rank of training, fed by preprocessing servers.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/flags/command_line.h"
#include "base/print_escaped.h"
#include "base/process/keep_freed_memory.h"
#include "base/process/process_limits.h"
#include "base/process/standard_streams.h"
#include "base/tls/keep_openssl.h"
#include "penstock_version.h"
#include "trainer/app/commands.h"
#include "trainer/app/input_options.h"
#include "trainer/app/options.h"
#include "trainer/app/run.h"

namespace {

int Fail(int code, const std::string& message) {
  penstock::PrintEscaped(stderr, "penstock-train: %s\n", message);
  return code;
}

// Code to exit with where all went well but perhaps the printing.
int Printed() {
  const absl::Status status = penstock::FlushStandardOutput();
  return status.ok() ? 0 : Fail(1, std::string(status.message()));
}

constexpr char kExample[] =
    "Example:\n"
    "  penstock index data --holdout 5% -o data/manifest.pb\n"
    "  penstock-train --manifest data/manifest.pb --servers 10.0.0.1:7070,10.0.0.2:7070 \\\n"
    "      --model tiny --epochs 4 --lr 1e-3 --lr-schedule cosine --warmup-steps 20 \\\n"
    "      --checkpoint-dir checkpoints\n"
    "\n"
    "Other commands (--help after each):\n"
    "  devices  list what this machine offers: GPUs, their libraries, ways between ranks\n"
    "  evaluate print the loss of a checkpoint's model on the records of a manifest\n"
    "  export   write the weights of a checkpoint as a safetensors file\n"
    "  predict  apply a checkpoint's model to positions, image files or records\n"
    "  products measure how fast a GPU multiplies a model's matrices";

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

int Train(int argc, char** argv) {
  penstock::TrainerOptions options;
  CLI::App app("Trains a model on batches from preprocessing servers.", "penstock-train");
  app.set_version_flag("--version",
                       "penstock-train " PENSTOCK_VERSION " (commit " PENSTOCK_COMMIT ")");
  app.footer(kExample);
  penstock::AddOptions(app, options);
  const std::vector<std::string> commands = {"devices", "evaluate", "export", "predict",
                                             "products"};
  if (const auto code = penstock::ParseCommandLine(app, "penstock-train", argc, argv, commands))
    return *code;
  if (options.print_config) {
    penstock::PrintEscaped(
        stdout, "%s",
        penstock::Multiline(app.config_to_str(/*default_also=*/true, /*write_description=*/true)));
    return Printed();
  }
  options.config = app.config_to_str(/*default_also=*/true, /*write_description=*/false);
  return Run(std::move(options));
}

// A command with options of its own.
template <typename Options>
int Command(int argc, char** argv, const char* name, const char* about,
            void (*add_options)(CLI::App&, Options&), absl::Status (*run)(const Options&),
            absl::Status (*check)(const Options&) = nullptr) {
  Options options;
  CLI::App app(about, std::string("penstock-train ") + name);
  add_options(app, options);
  if (const auto code = penstock::ParseCommandLine(app, "penstock-train", argc, argv)) return *code;
  const absl::Status usage = check == nullptr ? absl::OkStatus() : check(options);
  if (!usage.ok()) return Fail(penstock::kUsageExitCode, std::string(usage.message()));
  const absl::Status status = run(options);
  return status.ok() ? Printed() : Fail(1, std::string(status.message()));
}

}  // namespace

int main(int argc, char** argv) {
  penstock::HoldStandardStreams();
  penstock::KeepFreedMemory();
  penstock::UseOneArenaUnderAnAddressLimit();
  penstock::KeepOpensslUntilTheEnd();
  // A full disk under a file size limit must be an error of write(), not a signal.
  std::signal(SIGXFSZ, SIG_IGN);
  // So must a rank that went away.
  std::signal(SIGPIPE, SIG_IGN);
  // While training it asks to stop; one that comes when all is saved asks for nothing.
  std::signal(SIGUSR1, SIG_IGN);
  // A broken connection comes as a status that names its cause; gRPC would tell of it once more.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  const absl::string_view command = argc > 1 ? argv[1] : "";
  if (command == "devices") {
    return Command(argc - 1, argv + 1, "devices",
                   "Lists what this build finds on this machine to compute and exchange with.",
                   penstock::AddDevicesOptions, penstock::RunDevices);
  }
  if (command == "evaluate") {
    return Command(
        argc - 1, argv + 1, "evaluate",
        "Prints the loss of a checkpoint's model on the records of a manifest, of images "
        "the accuracy, too.",
        penstock::AddEvaluateOptions, penstock::RunEvaluate, penstock::CheckEvaluate);
  }
  if (command == "export") {
    return Command(argc - 1, argv + 1, "export",
                   "Writes the weights of a checkpoint as a safetensors file.",
                   penstock::AddExportOptions, penstock::RunExport);
  }
  if (command == "predict") {
    return Command(argc - 1, argv + 1, "predict",
                   "Applies a checkpoint's model: to positions, to image files, or to the records "
                   "of a manifest.",
                   penstock::AddPredictOptions, penstock::RunPredict, penstock::CheckPredict);
  }
  if (command == "products") {
    return Command(argc - 1, argv + 1, "products",
                   "Measures how fast a GPU multiplies a model's matrices, and nothing else.",
                   penstock::AddProductsOptions, penstock::RunProducts);
  }
  return Train(argc, argv);
}
