#include "trainer/backend/cuda/cuda_recorders.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "trainer/backend/cuda/cuda_marks.h"
#include "trainer/backend/cuda/device.h"
#include "trainer/backend/cuda/event_recorder.h"

namespace penstock {

std::vector<std::unique_ptr<DeviceRecorder>> CudaRecorders::Make(int index,
                                                                 std::vector<void*> streams,
                                                                 std::string& problem) {
  std::vector<std::unique_ptr<DeviceRecorder>> recorders;
  if (cupti_.ok() && *cupti_ != nullptr) {
    std::vector<NamedStream> named;
    for (size_t i = 0; i < streams.size(); ++i) named.push_back({streams[i], kDeviceQueueNames[i]});
    (*cupti_)->NameStreams(std::move(named));
    recorders.push_back(*std::move(cupti_));
  } else if (!cupti_.ok()) {
    problem = absl::StrCat(cupti_.status().message(),
                           ". The streams' tracks are made of CUDA events: a span a launch, no "
                           "kernels");
  }
  recorders.push_back(std::make_unique<EventRecorder>(
      std::make_unique<CudaMarks>(index, std::move(streams)), "CUDA events"));
  return recorders;
}

}  // namespace penstock
