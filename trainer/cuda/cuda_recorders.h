// Recorders for the streams of a GPU: CUPTI, and CUDA events if CUPTI is refused.
#ifndef PENSTOCK_TRAINER_CUDA_CUDA_RECORDERS_H_
#define PENSTOCK_TRAINER_CUDA_CUDA_RECORDERS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/backend/device/event_recorder.h"
#include "trainer/cuda/cupti_recorder.h"

namespace penstock {

// CUDA events as marks in streams. Event times are relative to one event that is recorded at the
// end. The host's clock gives its time to within half the time it takes to record and await it, a
// few microseconds.
class CudaMarks final : public StreamMarks {
 public:
  // Makes marks for GPU `index`. `streams` are its cudaStream_t, which must outlive the marks.
  CudaMarks(int index, std::vector<void*> streams) : index_(index), streams_(std::move(streams)) {}
  ~CudaMarks() override;

  absl::StatusOr<size_t> Mark(size_t stream) override;
  absl::Status Finish() override;
  absl::StatusOr<Tracer::Clock::time_point> TimeOf(size_t mark) override;

 private:
  absl::Status Record(void*& event, void* stream) const;

  const int index_;
  const std::vector<void*> streams_;
  std::vector<void*> events_;
  void* end_ = nullptr;
  Tracer::Clock::time_point end_time_ = {};
};

class CudaRecorders {
 public:
  // Opens CUPTI. Must come before anything uses the GPU.
  CudaRecorders() : cupti_(OpenCupti()) {}

  // Call this once. `index` is the GPU, `streams` are its cudaStream_t by DeviceQueue. Sets
  // `problem` to why CUPTI is unavailable and what the trace uses instead.
  std::vector<std::unique_ptr<DeviceRecorder>> Make(int index, std::vector<void*> streams,
                                                    std::string& problem);

 private:
  absl::StatusOr<std::unique_ptr<CuptiRecorder>> cupti_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_CUDA_RECORDERS_H_
