#include "trainer/cuda/cuda_recorders.h"

#include <cuda_runtime_api.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "trainer/backend/device/device.h"
#include "trainer/backend/device/event_recorder.h"
#include "trainer/cuda/cuda_status.h"

namespace penstock {
namespace {

constexpr int kEndTries = 9;

}  // namespace

// There is nobody to report errors to.
CudaMarks::~CudaMarks() {
  (void)cudaSetDevice(index_);
  for (void* event : events_) (void)cudaEventDestroy(static_cast<cudaEvent_t>(event));
  if (end_ != nullptr) (void)cudaEventDestroy(static_cast<cudaEvent_t>(end_));
}

absl::Status CudaMarks::Record(void*& event, void* stream) const {
  PENSTOCK_RETURN_IF_ERROR(CudaStatus(cudaSetDevice(index_), "CUDA: selecting the GPU"));
  if (event == nullptr) {
    cudaEvent_t made = nullptr;
    PENSTOCK_RETURN_IF_ERROR(CudaStatus(cudaEventCreateWithFlags(&made, cudaEventDefault),
                                        "CUDA: creating a timed event"));
    event = made;
  }
  return CudaStatus(
      cudaEventRecord(static_cast<cudaEvent_t>(event), static_cast<cudaStream_t>(stream)),
      "CUDA: recording a timed event");
}

absl::StatusOr<size_t> CudaMarks::Mark(size_t stream) {
  void* event = nullptr;
  const absl::Status recorded = Record(event, streams_[stream]);
  if (event != nullptr) events_.push_back(event);
  PENSTOCK_RETURN_IF_ERROR(recorded);
  return events_.size() - 1;
}

// The attempt that took least time has the most accurate time.
absl::Status CudaMarks::Finish() {
  std::chrono::nanoseconds least = std::chrono::nanoseconds::max();
  for (int i = 0; i < kEndTries; ++i) {
    void* event = nullptr;
    const Tracer::Clock::time_point before = Tracer::Clock::now();
    absl::Status happened = Record(event, streams_[0]);
    if (happened.ok()) {
      happened = CudaStatus(cudaEventSynchronize(static_cast<cudaEvent_t>(event)),
                            "CUDA: waiting for a timed event");
    }
    const std::chrono::nanoseconds took = Tracer::Clock::now() - before;
    const bool is_best = happened.ok() && took < least;
    void* other = is_best ? std::exchange(end_, event) : event;
    if (other != nullptr) (void)cudaEventDestroy(static_cast<cudaEvent_t>(other));
    PENSTOCK_RETURN_IF_ERROR(happened);
    if (is_best) least = took, end_time_ = before + took / 2;
  }
  return absl::OkStatus();
}

absl::StatusOr<Tracer::Clock::time_point> CudaMarks::TimeOf(size_t mark) {
  float milliseconds = 0;
  PENSTOCK_RETURN_IF_ERROR(
      CudaStatus(cudaEventElapsedTime(&milliseconds, static_cast<cudaEvent_t>(events_[mark]),
                                      static_cast<cudaEvent_t>(end_)),
                 "CUDA: reading the time of an event"));
  return end_time_ - std::chrono::duration_cast<std::chrono::nanoseconds>(
                         std::chrono::duration<double, std::milli>(milliseconds));
}

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
    problem =
        absl::StrCat(cupti_.status().message(),
                     ". The trace uses CUDA events instead: it has one span per launch and no "
                     "kernels");
  }
  recorders.push_back(std::make_unique<EventRecorder>(
      std::make_unique<CudaMarks>(index, std::move(streams)), "CUDA events"));
  return recorders;
}

}  // namespace penstock
