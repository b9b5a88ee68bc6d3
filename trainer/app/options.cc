#include "trainer/app/options.h"

#include <algorithm>
#include <cfloat>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "client/transport/network_options.h"
#include "records/base/byte_size.h"
#include "records/base/number_range.h"
#include "records/base/status.h"
#include "records/base/timeout.h"
#include "trainer/comm/shard_merge.h"

namespace penstock {
namespace {

void AddInputOptions(CLI::App& app, TrainerOptions& o) {
  app.add_option("--manifest", o.manifest,
                 "Manifest of the data (penstock index), its folder, or server:PATH: the manifest "
                 "at PATH beneath the --data-root of --servers; server:DIR/ is "
                 "DIR/manifest.pb there, server: is manifest.pb");
  app.add_option("--servers", o.servers,
                 "HOST:PORT,HOST:PORT, dns:///HOST:PORT, file:PATH, or local: to decode in this "
                 "process");
  app.add_option("--data-root", o.data_root,
                 "Folder of the shards for local:; empty: the manifest's");
  app.add_option("--spec", o.spec, "Decode spec: chess, or a textproto file of the same tensors");
  app.add_option("--dtype", o.dtype, "How records travel; packed is expanded here")
      ->check(CLI::IsMember({"packed", "i8", "f32"}));
  app.add_flag("--no-shuffle", o.no_shuffle, "Read every epoch in file order");
  app.add_option("--lanes", o.lanes, "L of the plan: windows read side by side");
  app.add_option("--window-chunks", o.window_chunks, "K of the plan: chunks of a window");
  app.add_option("--strip-rows", o.strip_rows, "S of the plan; 0: chosen from the data");
  app.add_option("--look-ahead", o.look_ahead, "Memory for batches fetched ahead");
  app.add_option("--connections", o.connections,
                 "To each server; 0: one, and a second when it is saturated");
  app.add_flag("--no-shm", o.no_shm,
               "Take parts over gRPC even where a server offers shared memory");
  app.add_flag("--checksums", o.checksums, "Verify a checksum of every part that servers send");
  app.add_option("--server-timeout", o.server_timeout, "Fail after so long without any server");
  app.add_option("--on-error", o.on_error,
                 "A record damaged since it was indexed, when two servers agree")
      ->check(CLI::IsMember({"fail", "replace"}));
  app.add_flag("--tls", o.tls, "Speak TLS to servers");
  app.add_option("--tls-ca", o.tls_ca,
                 "PEM file of who may sign a server's certificate; empty: the system's roots");
  app.add_option("--tls-cert", o.tls_cert, "This client's certificate, for servers that want one");
  app.add_option("--tls-key", o.tls_key, "The key of --tls-cert");
  app.add_option("--tls-server-name", o.tls_server_name,
                 "Name in the servers' certificates, where it is not the address's host");
  app.add_option("--token-file", o.token_file, "File of the bearer token that servers ask for")
      ->envname("PENSTOCK_TOKEN_FILE");
}

absl::Status ValidateTls(const TrainerOptions& o) {
  if (o.tls_cert.empty() != o.tls_key.empty()) {
    return absl::InvalidArgumentError("--tls-cert and --tls-key belong together");
  }
  if (!o.tls && !(o.tls_ca.empty() && o.tls_cert.empty() && o.tls_server_name.empty())) {
    return absl::InvalidArgumentError(
        "--tls-ca, --tls-cert, --tls-key and --tls-server-name need --tls");
  }
  return absl::OkStatus();
}

void AddMachineOptions(CLI::App& app, TrainerOptions& o) {
  app.add_option("--model", o.model, "Size of the model")
      ->check(CLI::IsMember({"tiny", "default", "large"}));
  app.add_flag("--attention-bias", o.attention_bias,
               "Learn a bias of attention for each layer, head and pair of squares");
  AddDeviceOptions(app, o.device);
  app.add_option("--gemm", o.gemm, "Matrix multiplication on the CPU")
      ->check(CLI::IsMember({"onednn", "openblas"}));
  app.add_option(
         "--precision", o.precision,
         "Of the operands of matrix products, on a GPU of activations too; all else is fp32")
      ->check(CLI::IsMember({"fp32", "bf16"}));
  app.add_option("--threads", o.threads, "Threads that compute; 0: every core of this process");
  app.add_option("--virtual-shards", o.virtual_shards,
                 "Row blocks of a batch whose gradients are merged in a fixed tree");
}

void AddTrainingOptions(CLI::App& app, TrainerOptions& o) {
  app.add_option("--global-batch-size", o.global_batch_size,
                 "Samples of a step; a multiple of the virtual shards");
  app.add_option("--accumulate", o.accumulate,
                 "Batches of --global-batch-size whose gradients make one step");
  app.add_option("--seed", o.seed, "Of the records' order and the initial parameters");
  app.add_option("--epochs", o.epochs,
                 "Passes over the train split; 0: one, or as many as --steps needs");
  app.add_option("--steps", o.steps, "Steps in all, at most; 0: as --epochs says");
  app.add_option("--lr", o.learning_rate, "Learning rate at its peak");
  app.add_option("--lr-schedule", o.lr_schedule, "After the warm-up; cosine falls to 0")
      ->check(CLI::IsMember({"constant", "cosine"}));
  app.add_option("--warmup-steps", o.warmup_steps, "Steps in which the rate rises linearly");
  app.add_option("--weight-decay", o.weight_decay, "Times the learning rate, on matrices only");
  app.add_option("--clip-norm", o.clip_norm, "Largest norm of the gradient; 0: no limit");
  app.add_option("--eval-every", o.eval_every,
                 "Steps between evaluations on the holdout split; 0: at the end");
  app.add_option("--early-stop", o.early_stop,
                 "Evaluations in a row without a lower loss that end the training; 0: none do");
  app.add_option("--init-from", o.init_from,
                 "Start with the weights of this safetensors file (penstock-train export)");
}

void AddOutputOptions(CLI::App& app, TrainerOptions& o) {
  app.add_option("--checkpoint-dir", o.checkpoint_dir, "Where to save; empty: nothing is saved");
  app.add_option("--checkpoint-every", o.checkpoint_every, "Steps between saves; 0: at the end");
  app.add_option("--keep-checkpoints", o.keep_checkpoints, "Newest files that stay");
  app.add_option("--resume", o.resume,
                 "auto: from the newest in --checkpoint-dir that is whole; never; or a checkpoint "
                 "file");
  app.add_flag("--require-same-bits", o.require_same_bits,
               "Resume only where the next step has the bits it would have had");
  app.add_flag("--digest", o.digest,
               "SHA-256 over the rows trained on, in order: that of penstock stream --digest");
  app.add_option("--json", o.json, "Write a summary for programs to this file");
  app.add_option("--events", o.events, "Write a line of JSON a step to this file");
  app.add_option("--tensorboard", o.tensorboard,
                 "Write an event file for TensorBoard into this folder");
  AddMetricsFlags(app, o.metrics);
  AddProfileOptions(app, o.profile);
}

// Otherwise -1 would be read as 2^64 - 1, what is too large as the largest, and NaN as a number.
// Without names of their own, the checks leave the help as it is.
void CheckNumbers(CLI::App& app) {
  const CLI::Validator whole(
      [](std::string& text) {
        return std::string(CheckWholeNumber(text, 0, UINT64_MAX).message());
      },
      "");
  const CLI::Validator number(
      [](std::string& text) { return std::string(CheckNumber(text, 0, DBL_MAX).message()); }, "");
  for (CLI::Option* option : app.get_options()) {
    if (option->get_type_name() == "UINT") option->check(whole);
    if (option->get_type_name() == "FLOAT") option->check(number);
  }
}

}  // namespace

void AddOptions(CLI::App& app, TrainerOptions& options) {
  app.option_defaults()->always_capture_default();
  AddInputOptions(app, options);
  AddMachineOptions(app, options);
  AddTrainingOptions(app, options);
  AddRankOptions(app, options.ranks);
  AddOutputOptions(app, options);
  CheckNumbers(app);
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.set_config("--config", "", "Read options from this file; --print-config writes one");
  app.add_flag("--print-config", options.print_config, "Print all options as a file and exit")
      ->configurable(false);
}

absl::Status Complete(TrainerOptions& options) {
  PENSTOCK_RETURN_IF_ERROR(options.Validate());
  PENSTOCK_ASSIGN_OR_RETURN(options.rank, FindRank(options.ranks.ranks, ProcessEnvironment()));
  const uint32_t world_size = options.rank.world_size;
  if (options.profile.no_allreduce && world_size == 1) {
    return absl::InvalidArgumentError("--no-allreduce compares several ranks; this is one alone");
  }
  options.learning_rate *= options.ranks.LearningRateFactor(world_size);
  if (options.ranks.divide_steps) options.steps = (options.steps + world_size - 1) / world_size;
  if (options.ranks.by_local_rank() && options.global_batch_size % world_size != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--global-batch-size ", options.global_batch_size, " on ", world_size,
                     " ranks: with --shard-by local-rank all have as many rows; the nearest is ",
                     (options.global_batch_size / world_size + 1) * world_size));
  }
  if (options.ranks.fast()) return absl::OkStatus();
  return CheckShardsAndRanks(options.virtual_shards, world_size);
}

absl::Status TrainerOptions::Validate() const {
  if (manifest.empty()) return absl::InvalidArgumentError("--manifest is required");
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
        "--accumulate: without --synthetic-data, --replay-batches and --no-allreduce");
  }
  if (threads > 1024) return absl::InvalidArgumentError("--threads must be at most 1024");
  if (lanes == 0) return absl::InvalidArgumentError("--lanes must be positive; usually 64");
  if (window_chunks == 0) {
    return absl::InvalidArgumentError("--window-chunks must be positive; usually 16");
  }
  if (connections > NetworkOptions::kMaxConnections) {
    return absl::InvalidArgumentError(
        absl::StrCat("--connections must be at most ", NetworkOptions::kMaxConnections));
  }
  if (keep_checkpoints == 0) {
    return absl::InvalidArgumentError("--keep-checkpoints must be positive");
  }
  if (early_stop > 0 && eval_every == 0) {
    return absl::InvalidArgumentError("--early-stop counts evaluations: it needs --eval-every");
  }
  if (!(learning_rate > 0)) return absl::InvalidArgumentError("--lr must be positive");
  if (clip_norm < 0 || weight_decay < 0) {
    return absl::InvalidArgumentError("--clip-norm and --weight-decay must not be negative");
  }
  PENSTOCK_RETURN_IF_ERROR(Annotate(ParseByteSize(look_ahead).status(), "--look-ahead"));
  PENSTOCK_RETURN_IF_ERROR(Annotate(ParseTimeout(server_timeout).status(), "--server-timeout"));
  PENSTOCK_RETURN_IF_ERROR(ValidateTls(*this));
  PENSTOCK_RETURN_IF_ERROR(metrics.Validate());
  PENSTOCK_RETURN_IF_ERROR(ranks.Validate());
  PENSTOCK_RETURN_IF_ERROR(profile.Validate());
  PENSTOCK_RETURN_IF_ERROR(device.Validate());
  if (profile.diagnoses() && !checkpoint_dir.empty()) {
    return absl::InvalidArgumentError(
        "--synthetic-data, --replay-batches and --no-allreduce are no training: without "
        "--checkpoint-dir");
  }
  if (profile.diagnoses() && resume != "auto" && resume != "never") {
    return absl::InvalidArgumentError(
        "--synthetic-data, --replay-batches and --no-allreduce begin with the first step: without "
        "--resume");
  }
  if (resume.empty()) {
    return absl::InvalidArgumentError("--resume takes auto, never or a checkpoint file");
  }
  return absl::OkStatus();
}

}  // namespace penstock
