#include "trainer/app/input_options.h"

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/loader/served_manifest.h"
#include "client/servers/server_list.h"
#include "client/transport/grpc/server_channel.h"
#include "records/base/byte_size.h"
#include "records/base/status.h"
#include "records/base/timeout.h"

namespace penstock {

absl::Status CheckInput(const TrainerOptions& options) {
  if (IsServedManifest(options.manifest)) {
    PENSTOCK_RETURN_IF_ERROR(
        Annotate(CheckServedManifest(options.manifest, options.servers), "--manifest"));
  }
  if (options.token_file.empty() || options.servers == kLocalServer) return absl::OkStatus();
  return Annotate(ReadTokenFile(options.token_file).status(), "--token-file");
}

LoaderOptions ToLoaderOptions(const TrainerOptions& options,
                              std::shared_ptr<const Manifest> manifest,
                              const v1::DecodeSpec& spec) {
  LoaderOptions loader;
  loader.manifest = std::move(manifest);
  loader.servers = options.servers;
  loader.data_root = options.data_root;
  loader.spec = spec;
  loader.dtype = *ParseWireDtype(options.dtype);  // The command line took no other word.
  loader.global_batch_size = options.global_batch_size;
  loader.rank = options.rank.rank;
  loader.world_size = options.rank.world_size;
  // Validate() has parsed both.
  loader.look_ahead_bytes = *ParseByteSize(options.look_ahead);
  loader.checksums = options.checksums;
  loader.server_timeout = *ParseTimeout(options.server_timeout);
  loader.on_error = options.on_error == "replace" ? OnError::kReplace : OnError::kFail;
  loader.report = [&options](absl::string_view line) {
    absl::FPrintF(stderr, "penstock: %s%s\n", RankMark(options.rank), line);
  };
  if (options.tls) {
    loader.network.tls = TlsOptions{.ca_file = options.tls_ca,
                                    .cert_file = options.tls_cert,
                                    .key_file = options.tls_key,
                                    .server_name = options.tls_server_name};
  }
  loader.network.token_file = options.token_file;
  loader.network.shared_memory = !options.no_shm;
  loader.network.connections = options.connections;
  loader.record_ids = true;  // Named when a step diverges.
  loader.plan.seed = options.seed;
  loader.plan.lanes = options.lanes;
  loader.plan.window_chunks = options.window_chunks;
  loader.plan.strip_rows = options.strip_rows;
  return loader;
}

MemoryUse SlotUse(const TrainerOptions& options, const LoaderStats& stats) {
  return {"slots", stats.slots * stats.slot_bytes,
          absl::StrCat(stats.slots, " batches of --look-ahead ", options.look_ahead)};
}

void WarnOfFewSlots(const TrainerOptions& options, const LoaderStats& stats) {
  const std::string warning = LaunchesLackSlots(
      options.device.steps_per_launch, *ParseByteSize(options.look_ahead), stats.slot_bytes);
  if (!warning.empty()) absl::FPrintF(stderr, "penstock-train: %s\n", warning);
}

absl::StatusOr<MateScoreParams> ScoreParamsOf(const TrainerOptions& options,
                                              const v1::DecodeSpec& spec) {
  for (const v1::TensorSpec& tensor : spec.tensor()) {
    if (tensor.name() != "score" || !tensor.has_mate_score()) continue;
    return MateScoreParams{tensor.mate_score().a(), tensor.mate_score().b(),
                           tensor.mate_score().k()};
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--spec ", options.spec, " has no mate_score called score: the board model predicts that"));
}

}  // namespace penstock
