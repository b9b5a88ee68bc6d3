#include "trainer/app/options.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/flags/json_flag.h"
#include "base/flags/number_flags.h"
#include "base/status.h"
#include "trainer/app/records_options.h"
#include "trainer/comm/shard_merge.h"

namespace penstock {
namespace {

void AddInputOptions(CLI::App& app, TrainerOptions& o) {
  AddManifestFlag(app, o.manifest);
  app.option_defaults()->group("Order");
  app.add_option("--seed", o.seed, "Seed of the order and of the initial parameters");
  AddSourceFlags(app, o.source);
  app.option_defaults()->group("Decoding");
  app.add_option("--eval-spec", o.eval_spec,
                 "Decode spec of evaluations; empty: --spec without random crops and flips")
      ->type_name("SPEC");
  AddRecordsDtypeFlag(app, o.dtype);
}

void AddModelOptions(CLI::App& app, TrainerOptions& o) {
  app.option_defaults()->group("Model");
  app.add_option("--model", o.model,
                 "Model to train: tiny, default and large for boards; vit-tiny and vit (72 pixels) "
                 "and vit-small (224) for images")
      ->check(CLI::IsMember(ModelConfig::Names()))
      ->type_name("MODEL");
  app.add_option("--init-from", o.init_from,
                 "Start with the weights of a safetensors file (penstock-train export)")
      ->type_name("FILE");
  app.add_flag("--attention-bias", o.attention_bias,
               "Learn a bias of attention for each layer, head and pair of squares");
  // The type's name keeps CheckNumbers() from refusing -1; ModelConfig::Validate() checks the rest.
  app.add_option("--dropout", o.dropout,
                 "Share of attention probabilities and block activations to drop; -1: the model's, "
                 "0.1 (vit) or 0")
      ->type_name("RATIO");
  app.add_option(
         "--head-dropout", o.head_dropout,
         "Share of the inputs of each layer of the head to drop; -1: the model's, 0.5 (vit) "
         "or 0")
      ->type_name("RATIO");
  AddImageOptions(app, o.image);
}

void AddMachineOptions(CLI::App& app, TrainerOptions& o) {
  AddDeviceOptions(app, o.device);
  app.option_defaults()->group("Devices");
  app.add_option(
         "--precision", o.precision,
         "Type of the inputs of matrix products and, on a GPU, of activations; all else is fp32")
      ->check(CLI::IsMember({"fp32", "bf16"}))
      ->type_name("DTYPE");
  app.add_option("--gemm", o.gemm, "Library for matrix multiplication on the CPU")
      ->check(CLI::IsMember({"onednn", "openblas"}))
      ->type_name("LIBRARY");
  AddComputeThreadsFlag(app, o.threads);
}

void AddTrainingOptions(CLI::App& app, TrainerOptions& o) {
  app.option_defaults()->group("Options");
  app.add_option("--global-batch-size", o.global_batch_size,
                 "Rows of a step over all ranks; a multiple of --virtual-shards");
  app.add_option("--epochs", o.epochs, "Epochs to train; 0: one, or as many as --steps needs");
  app.add_option("--steps", o.steps, "Largest number of steps to train; 0: as --epochs says");
  app.add_option("--eval-every", o.eval_every,
                 "Steps between evaluations on the holdout split; 0: at the end");
  app.add_option("--early-stop", o.early_stop,
                 "End after this many evaluations in a row without a lower loss; 0: never");
  app.option_defaults()->group("Optimizer");
  app.add_option("--lr", o.learning_rate, "Peak learning rate")->check(PositiveNumber());
  app.add_option("--lr-schedule", o.lr_schedule,
                 "Learning rate after the warm-up; cosine falls to 0")
      ->check(CLI::IsMember({"constant", "cosine"}))
      ->type_name("SCHEDULE");
  app.add_option("--warmup-steps", o.warmup_steps, "Steps in which the rate rises linearly");
  app.add_option("--weight-decay", o.weight_decay,
                 "Weight decay of matrices, multiplied by the learning rate");
  app.add_option("--clip-norm", o.clip_norm, "Largest norm of the gradient; 0: no limit");
  app.add_option("--accumulate", o.accumulate,
                 "Batches of --global-batch-size whose gradients make one step");
}

void AddCheckpointOptions(CLI::App& app, TrainerOptions& o) {
  app.option_defaults()->group("Checkpoints");
  app.add_option("--checkpoint-dir", o.checkpoint_dir,
                 "Folder of the checkpoints; empty: none are saved")
      ->type_name("DIR");
  app.add_option("--checkpoint-every", o.checkpoint_every,
                 "Steps between checkpoints; 0: at the end");
  app.add_option("--keep-checkpoints", o.keep_checkpoints, "Number of newest checkpoints to keep");
  app.add_option(
         "--resume", o.resume,
         "Checkpoint to resume from: auto (the newest valid one in --checkpoint-dir), never, "
         "or a file")
      ->type_name("FILE");
  app.add_flag("--require-same-bits", o.require_same_bits,
               "Resume only if the next step has the bits that it would have had");
  app.add_option(
      "--stopped-exit-code", o.stopped_exit_code,
      "Exit code of all ranks when a signal stops the run; after Ctrl-C it is always 130");
}

void AddOutputOptions(CLI::App& app, TrainerOptions& o) {
  app.option_defaults()->group("Output");
  app.add_flag("--digest", o.digest,
               "Print the SHA-256 of all rows in order, as penstock stream --digest does");
  AddJsonFlag(app, o.json, "Write the result")
      ->description(
          "Write the result as JSON; - is standard output, with the text on standard error");
  app.add_option("--events", o.events,
                 "Write a line of JSON for each step; a resumed training appends to the file")
      ->type_name("FILE");
  app.add_option("--tensorboard", o.tensorboard, "Write an event file for TensorBoard")
      ->type_name("DIR");
  AddMetricsFlags(app, o.metrics);
  AddProfileOptions(app, o.profile);
}

// Checks that no two outputs have the same file, because they would overwrite each other.
absl::Status CheckFilesDiffer(const TrainerOptions& o) {
  std::map<std::string, const char*> flags;
  const std::pair<const char*, std::string> files[] = {
      {"--json", o.json},
      {"--events", o.events},
      {"--profile-file", o.profile.steps.empty() ? "" : o.profile.file}};
  for (const auto& [flag, file] : files) {
    if (file.empty()) continue;
    const auto [known, is_new] = flags.emplace(file, flag);
    if (is_new) continue;
    return absl::InvalidArgumentError(absl::StrCat(known->second, " and ", flag, " both name ",
                                                   file, "; give each a file of its own"));
  }
  return absl::OkStatus();
}

// Checks that all ranks get equally many rows, as hosts with data of their own need. The proposed
// numbers are also multiples of the virtual shards, so that the next check does not refuse them.
absl::Status CheckEqualRows(const TrainerOptions& options) {
  const uint64_t batch = options.global_batch_size, ranks = options.rank.world_size;
  if (batch % ranks == 0) return absl::OkStatus();
  const uint64_t unit = std::lcm(uint64_t{options.virtual_shards}, ranks);
  const uint64_t below = std::max(batch / unit * unit, unit);
  return absl::InvalidArgumentError(
      absl::StrCat("--global-batch-size ", batch, " is not a multiple of ", ranks,
                   " ranks: with --shard-by local-rank every rank needs the same number of rows; "
                   "give ",
                   below, " or ", below + unit));
}

// Checks that this rank's share of `options.steps` is enough for a diagnosis. 0 means the default
// number, which is enough.
absl::Status CheckDiagnosedSteps(const TrainerOptions& options) {
  const uint64_t steps = options.steps;
  if (!options.profile.diagnoses() || steps == 0 || steps >= kLeastDiagnosedSteps) {
    return absl::OkStatus();
  }
  const bool divided = options.ranks.divide_steps;
  const uint64_t least =
      divided ? (kLeastDiagnosedSteps - 1) * options.rank.world_size + 1 : kLeastDiagnosedSteps;
  return absl::InvalidArgumentError(absl::StrCat(
      steps, steps == 1 ? " step is" : " steps are",
      " too few for --synthetic-data, --replay-batches or --no-allreduce: they compare two halves "
      "of the steps and ignore the first step of each; give --steps ",
      least, divided ? " or more with --divide-steps" : " or more"));
}

}  // namespace

void AddOptions(CLI::App& app, TrainerOptions& options) {
  app.option_defaults()->always_capture_default();
  AddTrainingOptions(app, options);
  AddInputOptions(app, options);
  AddModelOptions(app, options);
  AddMachineOptions(app, options);
  AddRankOptions(app, options.ranks);
  app.add_option("--virtual-shards", options.virtual_shards,
                 "Row blocks of a batch whose gradients are merged in a fixed tree");
  AddCheckpointOptions(app, options);
  AddOutputOptions(app, options);
  app.option_defaults()->group("Help");
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.set_config("--config", "", "Read options from a file, one NAME=VALUE a line")
      ->type_name("FILE");
  app.add_flag("--print-config", options.print_config, "Print all options as such a file and exit")
      ->configurable(false);
}

absl::Status Complete(TrainerOptions& options) {
  PENSTOCK_RETURN_IF_ERROR(options.Validate());
  PENSTOCK_ASSIGN_OR_RETURN(options.rank, FindRank(options.ranks.ranks, ProcessEnvironment()));
  const uint32_t world_size = options.rank.world_size;
  if (options.profile.no_allreduce && world_size == 1) {
    return absl::InvalidArgumentError(
        "--no-allreduce needs at least two ranks, and this training has one; leave it out");
  }
  options.learning_rate *= options.ranks.LearningRateFactor(world_size);
  if (options.ranks.divide_steps) options.steps = (options.steps + world_size - 1) / world_size;
  PENSTOCK_RETURN_IF_ERROR(CheckDiagnosedSteps(options));
  if (options.ranks.by_local_rank()) PENSTOCK_RETURN_IF_ERROR(CheckEqualRows(options));
  if (options.ranks.fast()) return absl::OkStatus();
  return CheckShardsAndRanks(options.virtual_shards, world_size);
}

absl::Status CheckDtype(absl::string_view dtype, const ModelConfig& model) {
  if (dtype != "packed" || !model.is_image()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--dtype packed cannot be used with --model ", model.name,
                   ": it sends features undecoded, and the model needs decoded images; leave "
                   "--dtype out"));
}

absl::string_view TrainerOptions::BoardDtype() const {
  return dtype == kAutoValue ? "packed" : absl::string_view(dtype);
}

absl::StatusOr<ModelConfig> TrainerOptions::Model() const {
  PENSTOCK_ASSIGN_OR_RETURN(ModelConfig sizes, ModelConfig::Named(model));
  sizes.attention_bias = attention_bias;
  if (dropout != -1) sizes.dropout = dropout;
  if (head_dropout != -1) sizes.head_dropout = head_dropout;
  PENSTOCK_RETURN_IF_ERROR(image.Apply(sizes));
  PENSTOCK_RETURN_IF_ERROR(sizes.Validate());
  return sizes;
}

absl::Status TrainerOptions::Validate() const {
  PENSTOCK_RETURN_IF_ERROR(CheckManifestFlag(manifest));
  PENSTOCK_ASSIGN_OR_RETURN(const ModelConfig sizes, Model());
  PENSTOCK_RETURN_IF_ERROR(CheckDtype(dtype, sizes));
  if (virtual_shards == 0) return absl::InvalidArgumentError("--virtual-shards must be positive");
  if (global_batch_size == 0 || global_batch_size % virtual_shards != 0) {
    const uint64_t below = global_batch_size / virtual_shards * virtual_shards;
    return absl::InvalidArgumentError(absl::StrCat(
        "--global-batch-size ", global_batch_size, " is not a multiple of --virtual-shards ",
        virtual_shards, "; the nearest are ", std::max(below, virtual_shards), " and ",
        std::max(below, virtual_shards) + virtual_shards));
  }
  if (accumulate == 0) return absl::InvalidArgumentError("--accumulate must be positive");
  if (accumulate > 1 && profile.diagnoses()) {
    return absl::InvalidArgumentError(
        "--accumulate cannot be combined with --synthetic-data, --replay-batches or "
        "--no-allreduce; leave it out");
  }
  if (threads > 1024) return absl::InvalidArgumentError("--threads must be at most 1024");
  if (keep_checkpoints == 0) {
    return absl::InvalidArgumentError("--keep-checkpoints must be positive");
  }
  if (early_stop > 0 && eval_every == 0) {
    return absl::InvalidArgumentError(
        "--early-stop counts evaluations, so it needs --eval-every; give --eval-every N");
  }
  if (!(learning_rate > 0)) return absl::InvalidArgumentError("--lr is not a positive number");
  if (clip_norm < 0 || weight_decay < 0) {
    return absl::InvalidArgumentError("--clip-norm and --weight-decay must not be negative");
  }
  LoaderOptions ignored;
  PENSTOCK_RETURN_IF_ERROR(FillLoaderOptions(source, ignored));
  PENSTOCK_RETURN_IF_ERROR(metrics.Validate());
  PENSTOCK_RETURN_IF_ERROR(ranks.Validate());
  if (ranks.by_local_rank() && source.remainder != "drop") {
    return absl::InvalidArgumentError(absl::StrCat(
        "--remainder ", source.remainder, " cannot be used with --shard-by local-rank, ",
        "because hosts can have different numbers of rows left; give --remainder drop"));
  }
  PENSTOCK_RETURN_IF_ERROR(profile.Validate());
  PENSTOCK_RETURN_IF_ERROR(device.Validate());
  if (profile.diagnoses() && !checkpoint_dir.empty()) {
    return absl::InvalidArgumentError(
        "--checkpoint-dir cannot be combined with --synthetic-data, --replay-batches or "
        "--no-allreduce: a diagnosis saves no checkpoints; leave it out");
  }
  if (profile.diagnoses() && resume != "auto" && resume != "never") {
    return absl::InvalidArgumentError(
        "--resume cannot be combined with --synthetic-data, --replay-batches or --no-allreduce: a "
        "diagnosis starts at the first step; leave it out");
  }
  PENSTOCK_RETURN_IF_ERROR(CheckFilesDiffer(*this));
  if (stopped_exit_code > 125) {
    return absl::InvalidArgumentError("--stopped-exit-code must be at most 125");
  }
  if (resume.empty()) {
    return absl::InvalidArgumentError("--resume takes auto, never or a checkpoint file");
  }
  return absl::OkStatus();
}

}  // namespace penstock
