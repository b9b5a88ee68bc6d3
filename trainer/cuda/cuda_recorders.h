// What can record the streams of a GPU: CUPTI, and CUDA events where that refuses.
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

// CUDA events as marks in streams.
// Events are timed against one that is recorded at the end, whose time on the host's clock is known
// to half of what it takes to record and await it, some microseconds.
class CudaMarks final : public StreamMarks {
 public:
  // Of GPU `index`; `streams` are its cudaStream_t, which must outlive the marks.
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

#endif  // PENSTOCK_TRAINER_CUDA_CUDA_RECORDERS_H_
