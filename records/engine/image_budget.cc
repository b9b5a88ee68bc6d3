#include "records/engine/image_budget.h"

#include "absl/strings/str_cat.h"
#include "base/byte_size.h"

namespace penstock {

absl::Status ImageBudget::Take(uint64_t bytes) {
  if (bytes > budget_bytes_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("decoding the image takes ", FormatByteSize(bytes),
                     " of memory, and this server has ", FormatByteSize(budget_bytes_),
                     " for images, a quarter of its budget: raise --memory-budget, or refuse such "
                     "images by max_pixels in the spec"));
  }
  {
    MutexLock lock(&mutex_);
    ++num_waiting_;
    while (taken_bytes_ + bytes > budget_bytes_) returned_.Wait(&mutex_);
    --num_waiting_;
    taken_bytes_ += bytes;
  }
  hold_(bytes);
  return absl::OkStatus();
}

void ImageBudget::Return(uint64_t bytes) {
  let_go_(bytes);
  MutexLock lock(&mutex_);
  taken_bytes_ -= bytes;
  returned_.NotifyAll();
}

uint64_t ImageBudget::taken_bytes() const {
  MutexLock lock(&mutex_);
  return taken_bytes_;
}

uint32_t ImageBudget::num_waiting() const {
  MutexLock lock(&mutex_);
  return num_waiting_;
}

}  // namespace penstock
