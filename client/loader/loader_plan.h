// Makes the plan, the steps and the stream options of a loader from its options.
#ifndef PENSTOCK_CLIENT_LOADER_LOADER_PLAN_H_
#define PENSTOCK_CLIENT_LOADER_LOADER_PLAN_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/loader/loader.h"
#include "client/plan/plan.h"
#include "client/plan/steps.h"
#include "records/decode/program.h"
#include "records/engine/messages.h"

namespace penstock {

// Fails as Plan::Create() does. REQUIRES: options.manifest is not null.
absl::StatusOr<Plan> MakePlan(const LoaderOptions& options);

// The rule of options.remainder, or the default for the split.
Remainder RemainderOf(const LoaderOptions& options);

// A status has a payload of this name if options.start caused it.
inline constexpr char kCursorPayload[] = "penstock/cursor";

// Makes the steps from options.start on, ignoring max_steps. Fails as Steps::Create() does.
// kFailedPrecondition: the cursor belongs to another order.
absl::StatusOr<Steps> MakeSteps(const LoaderOptions& options, const Plan& plan);

// Returns the manifest whose order `options.start` belongs to: options.manifest, or one that
// penstock index --update kept of the manifest at `path`, which may be a folder. Reports the latter
// through options.report. Returns options.manifest if there is no start, or no such manifest, so
// that MakeSteps() refuses the cursor.
std::shared_ptr<const Manifest> ManifestOfCursor(const std::string& path,
                                                 const LoaderOptions& options);

// The parts of a loader that only the options and the manifest decide.
struct LoaderParts {
  Plan plan;
  Steps steps;
  Program program;
};

// Errors: those of Loader::Open() that need neither a server nor a shard.
absl::StatusOr<LoaderParts> MakeParts(const LoaderOptions& options);

// Returns the number of slots of the loader.
uint32_t NumSlotsOf(const LoaderOptions& options, size_t slot_bytes, const Steps& steps);

// Makes the options of the streams that a loader opens to every server.
StreamOptions MakeStreamOptions(const LoaderOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_LOADER_PLAN_H_
