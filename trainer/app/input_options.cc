#include "trainer/app/input_options.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/byte_size.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "client/loader/host_share.h"
#include "client/loader/look_ahead.h"
#include "client/loader/served_manifest.h"
#include "client/servers/server_list.h"

namespace penstock {

namespace {

bool IsOfImages(const TrainerOptions& options) {
  const absl::StatusOr<ModelConfig> model = options.Model();
  return model.ok() && model->is_image();
}

}  // namespace

absl::Status CheckInput(const TrainerOptions& options) {
  if (IsServedManifest(options.manifest)) {
    PENSTOCK_RETURN_IF_ERROR(
        Annotate(CheckServedManifest(options.manifest, options.source.servers), "--manifest"));
  }
  LoaderOptions loader;
  PENSTOCK_RETURN_IF_ERROR(FillLoaderOptions(options.source, loader));
  std::vector<std::string> warnings;
  PENSTOCK_RETURN_IF_ERROR(CheckSource(loader, warnings));
  for (const std::string& warning : warnings) {
    PrintEscaped(stderr, "penstock-train: %s%s\n", RankMark(options.rank), warning);
  }
  return absl::OkStatus();
}

void ReadOnceInOrder(Split split, LoaderOptions& loader) {
  loader.plan.split = split;
  loader.plan.shuffle = false;
  loader.remainder = Remainder::kShort;
}

LoaderOptions ToLoaderOptions(const TrainerOptions& options,
                              std::shared_ptr<const Manifest> manifest,
                              const v1::DecodeSpec& spec) {
  LoaderOptions loader;
  FillLoaderOptions(options.source, loader).IgnoreError();  // Validate() has already passed.
  loader.manifest = std::move(manifest);
  loader.spec = spec;
  // The command line accepts only known words. Images and labels travel alike in every wire dtype
  // except "packed", which would name the tensors after their features.
  loader.dtype = IsOfImages(options) ? WireDtype::kI8 : *ParseWireDtype(options.BoardDtype());
  loader.global_batch_size = options.global_batch_size;
  loader.rank = options.rank.rank;
  loader.world_size = options.rank.world_size;
  loader.report = [mark = RankMark(options.rank)](absl::string_view line) {
    PrintEscaped(stderr, "penstock: %s%s\n", mark, line);
  };
  loader.record_ids = true;  // The report of a diverged step names records by their IDs.
  loader.plan.seed = options.seed;
  ShareHost(options.rank.local_size, ReadMachineLimits(), loader);
  return loader;
}

void HalveForEvaluation(LoaderOptions& loader) { loader.local_memory_budget /= 2; }

MemoryUse EngineUse(const TrainerOptions& options, const Manifest& manifest) {
  if (options.source.servers != kLocalServer) return {"records", 0, "in the memory of servers"};
  LoaderOptions loader;
  ShareHost(options.rank.local_size, ReadMachineLimits(), loader);
  uint64_t bytes = 0;
  for (size_t i = 0; i < manifest.num_chunks(); ++i) bytes += manifest.chunk(i).raw_size;
  return {"records", std::min(bytes, loader.local_memory_budget),
          absl::StrCat("decoded here, at most ", FormatByteSize(loader.local_memory_budget),
                       ", and half as much again during evaluations")};
}

MemoryUse SlotUse(const LoaderStats& stats) {
  return {"slots", stats.slots * stats.slot_bytes,
          absl::StrCat(stats.slots, " batches fetched ahead (--look-ahead)")};
}

void WarnOfFewSlots(const TrainerOptions& options, const LoaderStats& stats) {
  const uint64_t look_ahead =
      LookAheadBytes(*ParseByteSize(options.source.look_ahead), stats.slot_bytes);
  const std::string warning =
      LaunchesLackSlots(options.device.steps_per_launch, look_ahead, stats.slot_bytes);
  if (!warning.empty()) PrintEscaped(stderr, "penstock-train: %s\n", warning);
}

}  // namespace penstock
