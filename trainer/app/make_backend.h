// What --device and the options beside it choose.
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

// Of --dtype.
InputFormat FormatOf(const TrainerOptions& options, const ModelConfig& model);

// `ranks`, `gate`, around its communicator, and `late` must outlive the backend; where there is a
// gate, gradients go through one like it. Of a GPU, rank 0 prints what memory it will take; of the
// CPU, which options have no effect there. An error names the option. kFailedPrecondition: there is
// no such device, and why.
absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(const TrainerOptions& options,
                                                     const ModelConfig& model, RankGroup& ranks,
                                                     GatedCommunicator* gate,
                                                     const LateReport& late);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_MAKE_BACKEND_H_
