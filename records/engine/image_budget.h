// Limits the part of an engine's memory budget that decoding large images may take.
#ifndef PENSTOCK_RECORDS_ENGINE_IMAGE_BUDGET_H_
#define PENSTOCK_RECORDS_ENGINE_IMAGE_BUDGET_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "records/image/image_memory.h"

namespace penstock {

// Threads that decode large images wait here for memory. A thread that holds memory needs no more
// to finish, so nobody waits for ever. Images are served in no particular order. Thread-safe.
class ImageBudget final : public ImageMemory {
 public:
  // `hold` and `let_go` are called with the bytes that are taken and returned, so that other memory
  // can make room.
  using Tell = std::function<void(uint64_t bytes)>;
  ImageBudget(uint64_t budget_bytes, uint64_t unasked_bytes, Tell hold, Tell let_go)
      : ImageMemory(unasked_bytes),
        budget_bytes_(budget_bytes),
        hold_(std::move(hold)),
        let_go_(std::move(let_go)) {}

  absl::Status Take(uint64_t bytes) override;
  void Return(uint64_t bytes) override;

  uint64_t taken_bytes() const;
  // Number of threads that wait for memory.
  uint32_t num_waiting() const;

 private:
  const uint64_t budget_bytes_;
  const Tell hold_, let_go_;
  mutable Mutex mutex_;
  CondVar returned_;
  uint64_t taken_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t num_waiting_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_IMAGE_BUDGET_H_
