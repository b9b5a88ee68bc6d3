// Converts cudart's results to a status.
#ifndef PENSTOCK_TRAINER_CUDA_CUDA_STATUS_H_
#define PENSTOCK_TRAINER_CUDA_CUDA_STATUS_H_

#include <cuda_runtime_api.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace penstock {

// `what` is the action that failed: "CUDA: creating a stream". kResourceExhausted: no memory; else
// kInternal. Clears the error; otherwise the next launch on this thread would report it again.
inline absl::Status CudaStatus(cudaError_t error, absl::string_view what) {
  if (error == cudaSuccess) return absl::OkStatus();
  (void)cudaGetLastError();
  const std::string message = absl::StrCat(what, " failed: ", cudaGetErrorString(error));
  return error == cudaErrorMemoryAllocation ? absl::ResourceExhaustedError(message)
                                            : absl::InternalError(message);
}

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_CUDA_STATUS_H_
