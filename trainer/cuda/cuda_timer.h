// Times work on a GPU. Compiled only with CUDA.
#ifndef PENSTOCK_TRAINER_CUDA_CUDA_TIMER_H_
#define PENSTOCK_TRAINER_CUDA_CUDA_TIMER_H_

#include <cuda_runtime_api.h>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock {

// Returns the seconds of one run of `run`, which queues work on `stream`: the least of a few
// measurements of many runs in a graph, so that launches do not count. Errors are those of `run`,
// and of CUDA.
absl::StatusOr<double> TimeOnGpu(cudaStream_t stream, absl::FunctionRef<absl::Status()> run);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_CUDA_TIMER_H_
