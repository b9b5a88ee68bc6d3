// Creates the backend that --device and related options choose.
#ifndef PENSTOCK_TRAINER_APP_MAKE_BACKEND_H_
#define PENSTOCK_TRAINER_APP_MAKE_BACKEND_H_

#include <memory>

#include "absl/status/statusor.h"
#include "trainer/app/late_report.h"
#include "trainer/app/options.h"
#include "trainer/backend/backend.h"
#include "trainer/comm/gated_communicator.h"
#include "trainer/comm/rank_group.h"
#include "trainer/model/model_config.h"

namespace penstock {

// The format that --dtype chooses.
InputFormat FormatOf(const TrainerOptions& options, const ModelConfig& model);

// `ranks`, `late` and `gate` must outlive the backend. `gate` is null, or wraps the communicator of
// `ranks`; then gradients also go through a gate like it. Rank 0 prints the memory that a GPU will
// take, or the options that have no effect on the CPU. Errors name the option. kFailedPrecondition:
// there is no such device; the message says why.
absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(const TrainerOptions& options,
                                                     const ModelConfig& model, RankGroup& ranks,
                                                     GatedCommunicator* gate,
                                                     const LateReport& late);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_MAKE_BACKEND_H_
