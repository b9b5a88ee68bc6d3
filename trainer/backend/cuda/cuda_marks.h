// CUDA events as marks in streams.
#ifndef PENSTOCK_TRAINER_BACKEND_CUDA_CUDA_MARKS_H_
#define PENSTOCK_TRAINER_BACKEND_CUDA_CUDA_MARKS_H_

#include <utility>
#include <vector>

#include "trainer/backend/cuda/event_recorder.h"

namespace penstock {

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

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_CUDA_CUDA_MARKS_H_
