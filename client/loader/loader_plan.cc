#include "client/loader/loader_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/loader/look_ahead.h"
#include "client/plan/chunk_table.h"
#include "records/dataset/kept_manifests.h"
#include "records/engine/row_limit.h"

namespace penstock {
namespace {

absl::Status CheckCursor(const Cursor& cursor, const Plan& plan) {
  if (cursor.order_fingerprint == plan.fingerprint()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the cursor ", cursor.ToString(), " belongs to another order (this one is ",
                   absl::Hex(plan.fingerprint(), absl::kZeroPad16),
                   "); use the data, split, seed, shuffling, lanes, window chunks and strip rows "
                   "of the run that "
                   "gave the cursor. If penstock index --update has changed the data, give the "
                   "manifest that it kept, MANIFEST.FINGERPRINT"));
}

// Whether one bytes value in each record decides the holdout. Servers of version 1 know no other
// kind. Manifests without features were written with such a holdout.
bool IsOneBytesValue(const FeatureSummary& summary, absl::string_view name) {
  return std::all_of(
      summary.features.begin(), summary.features.end(), [&](const FeatureInfo& info) {
        return info.name != name || info.feature_list || IsOneValue(info, name, "bytes");
      });
}

}  // namespace

Remainder RemainderOf(const LoaderOptions& options) {
  const bool evaluates = options.plan.split == Split::kHoldout;
  return options.remainder.value_or(evaluates ? Remainder::kShort : Remainder::kDrop);
}

absl::StatusOr<Plan> MakePlan(const LoaderOptions& options) {
  const Manifest& manifest = *options.manifest;
  absl::StatusOr<Plan> plan =
      Plan::Create(MakeChunkTable(manifest, options.plan.split), options.plan);
  if (!absl::IsFailedPrecondition(plan.status()) || manifest.base_dir().empty()) return plan;
  return Annotate(plan.status(), absl::StrCat("the manifest in ", manifest.base_dir()));
}

absl::StatusOr<Steps> MakeSteps(const LoaderOptions& options, const Plan& plan) {
  const StepOptions of_all = {.global_batch_size = options.global_batch_size,
                              .remainder = RemainderOf(options),
                              .epochs = options.epochs,
                              .rank = options.rank,
                              .world_size = options.world_size};
  absl::StatusOr<Steps> steps = Steps::Create(plan.rows(), of_all);
  if (!steps.ok() || !options.start.has_value()) return steps;
  absl::Status status = CheckCursor(*options.start, plan);
  if (status.ok()) {
    steps = Steps::Create(plan.rows(), of_all, {options.start->epoch, options.start->position});
    status = steps.status();
  }
  if (status.ok()) return steps;
  status.SetPayload(kCursorPayload, absl::Cord());
  return status;
}

std::shared_ptr<const Manifest> ManifestOfCursor(const std::string& path,
                                                 const LoaderOptions& options) {
  LoaderOptions tried = options;
  const auto fits = [&tried] {
    const absl::StatusOr<Plan> plan = MakePlan(tried);
    return plan.ok() && plan->fingerprint() == tried.start->order_fingerprint;
  };
  if (!options.start.has_value() || fits()) return options.manifest;
  for (const std::string& kept : ListKeptManifests(path)) {
    absl::StatusOr<Manifest> manifest = Manifest::Load(kept);
    if (!manifest.ok()) continue;
    tried.manifest = std::make_shared<const Manifest>(*std::move(manifest));
    if (!fits()) continue;
    if (options.report) {
      options.report(absl::StrCat("resuming with ", kept, ", because ", path,
                                  " was updated since: records that were added later are not "
                                  "read"));
    }
    return tried.manifest;
  }
  return options.manifest;
}

absl::StatusOr<LoaderParts> MakeParts(const LoaderOptions& options) {
  PENSTOCK_RETURN_IF_ERROR(options.Validate());
  PENSTOCK_ASSIGN_OR_RETURN(Plan plan, MakePlan(options));
  PENSTOCK_ASSIGN_OR_RETURN(const Steps steps, MakeSteps(options, plan));
  PENSTOCK_ASSIGN_OR_RETURN(Program program,
                            Program::Compile(options.spec.message(), options.dtype));
  PENSTOCK_RETURN_IF_ERROR(CheckRowSize(program, options.dtype, options.record_ids));
  return LoaderParts{std::move(plan), steps, std::move(program)};
}

uint32_t NumSlotsOf(const LoaderOptions& options, size_t slot_bytes, const Steps& steps) {
  const uint64_t most = options.max_steps > 0 ? options.max_steps : steps.num_steps();
  return NumSlots(options.look_ahead_bytes, slot_bytes, std::min(most, steps.num_steps())) +
         options.check_views;
}

StreamOptions MakeStreamOptions(const LoaderOptions& options) {
  StreamOptions stream;
  stream.spec = options.spec.message();
  stream.record_ids = options.record_ids;
  stream.checksums = options.checksums;
  stream.holdout_feature = options.manifest->holdout().feature;
  stream.holdout_threshold = options.manifest->holdout().threshold;
  stream.holdout_by_one_value =
      IsOneBytesValue(options.manifest->features(), stream.holdout_feature);
  stream.only_frames = std::ranges::all_of(options.manifest->shards(), [](const ShardInfo& shard) {
    return HoldsFrames(shard.container);
  });
  stream.client = absl::StrCat("rank ", options.rank, " of ", options.world_size);
  return stream;
}

}  // namespace penstock
