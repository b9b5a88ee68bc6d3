// OpenCupti() with a choice of the library and of its buffers. Needs CUPTI's headers.
#ifndef PENSTOCK_TRAINER_CUDA_OPEN_CUPTI_H_
#define PENSTOCK_TRAINER_CUDA_OPEN_CUPTI_H_

#include <memory>
#include <string>
#include <vector>

#include "trainer/cuda/cupti_buffers.h"
#include "trainer/cuda/cupti_recorder.h"
#include "trainer/cuda/shared_library.h"

namespace penstock {

absl::StatusOr<std::unique_ptr<CuptiRecorder>> OpenCuptiFrom(
    const LibrarySpec& spec, const std::vector<std::string>& folders,
    const CuptiOptions& options = {});

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_OPEN_CUPTI_H_
