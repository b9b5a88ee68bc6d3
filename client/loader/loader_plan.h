// What follows from a loader's options.
#ifndef PENSTOCK_CLIENT_LOADER_LOADER_PLAN_H_
#define PENSTOCK_CLIENT_LOADER_LOADER_PLAN_H_

#include "absl/status/statusor.h"
#include "client/loader/loader.h"
#include "client/plan/plan.h"
#include "client/plan/steps.h"
#include "records/engine/messages.h"

namespace penstock {

// The errors of Plan::Create(). REQUIRES: options.manifest is not null.
absl::StatusOr<Plan> MakePlan(const LoaderOptions& options);

// Names the payload of a status that options.start caused.
inline constexpr char kCursorPayload[] = "penstock/cursor";

// From options.start on; max_steps is not looked at. The errors of Steps::Create();
// kFailedPrecondition: the cursor belongs to another order.
absl::StatusOr<Steps> MakeSteps(const LoaderOptions& options, const Plan& plan);

// What a loader says to every server.
StreamOptions MakeStreamOptions(const LoaderOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_LOADER_PLAN_H_
