// Records the work of a GPU's streams, kernel by kernel, from CUPTI's activity records.
#ifndef PENSTOCK_TRAINER_CUDA_CUPTI_RECORDER_H_
#define PENSTOCK_TRAINER_CUDA_CUPTI_RECORDER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/profile/device_recorder.h"

namespace penstock {

// A cudaStream_t with its name.
struct NamedStream {
  void* handle = nullptr;
  std::string name;
};

class CuptiRecorder : public DeviceRecorder {
 public:
  // Names streams for the trace. All others are named by CUPTI's numbers.
  virtual void NameStreams(std::vector<NamedStream> streams) = 0;
};

// Finds CUPTI and subscribes to it until the recorder is destroyed. Call this before the GPU is
// opened, so that CUPTI sees every graph from its creation. Records only from Start() to Stop(). At
// most one recorder may exist in a process. kNotFound: CUPTI is missing. kFailedPrecondition: it is
// too old or refuses; the message says why and what to do. kUnimplemented: a build without CUPTI's
// headers.
absl::StatusOr<std::unique_ptr<CuptiRecorder>> OpenCupti();

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_CUPTI_RECORDER_H_
