// What the streams of a GPU did, kernel by kernel, from CUPTI's activity records.
#ifndef PENSTOCK_TRAINER_CUDA_CUPTI_RECORDER_H_
#define PENSTOCK_TRAINER_CUDA_CUPTI_RECORDER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/profile/device_recorder.h"

namespace penstock {

// A cudaStream_t and its name.
struct NamedStream {
  void* handle = nullptr;
  std::string name;
};

class CuptiRecorder : public DeviceRecorder {
 public:
  // Of streams that the trace names; all others are called by CUPTI's numbers.
  virtual void NameStreams(std::vector<NamedStream> streams) = 0;
};

// Finds CUPTI and subscribes to it until the recorder is destroyed: before the GPU is opened, so
// that CUPTI sees every graph from its making. Records only from Start() to Stop(). At most one at
// a time in a process. kNotFound: there is no CUPTI. kFailedPrecondition: it is too old or refuses,
// why, and what to do. kUnimplemented: a build without CUPTI's headers.
absl::StatusOr<std::unique_ptr<CuptiRecorder>> OpenCupti();

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_CUPTI_RECORDER_H_
