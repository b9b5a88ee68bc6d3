// What can record the streams of a GPU: CUPTI, and CUDA events where that refuses.
#ifndef PENSTOCK_TRAINER_BACKEND_CUDA_CUDA_RECORDERS_H_
#define PENSTOCK_TRAINER_BACKEND_CUDA_CUDA_RECORDERS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/backend/cuda/cupti_recorder.h"

namespace penstock {

class CudaRecorders {
 public:
  // Opens CUPTI; to be done before the GPU is taken.
  CudaRecorders() : cupti_(OpenCupti()) {}

  // Once, of GPU `index` and its streams' cudaStream_t by DeviceQueue. `problem`: why there is no
  // CUPTI, and what the trace has instead.
  std::vector<std::unique_ptr<DeviceRecorder>> Make(int index, std::vector<void*> streams,
                                                    std::string& problem);

 private:
  absl::StatusOr<std::unique_ptr<CuptiRecorder>> cupti_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_CUDA_CUDA_RECORDERS_H_
