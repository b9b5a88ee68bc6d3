// What --device and the options beside it choose.
#ifndef PENSTOCK_TRAINER_APP_MAKE_BACKEND_H_
#define PENSTOCK_TRAINER_APP_MAKE_BACKEND_H_

#include <memory>

#include "absl/status/statusor.h"
#include "trainer/app/options.h"
#include "trainer/backend/backend.h"
#include "trainer/comm/communicator.h"
#include "trainer/model/board_model.h"

namespace penstock {

// `ranks` must outlive the backend. An error names the option.
absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(const TrainerOptions& options,
                                                     const BoardModelConfig& model,
                                                     Communicator& ranks);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_MAKE_BACKEND_H_
