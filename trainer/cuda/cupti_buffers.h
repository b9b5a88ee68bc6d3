// The buffers that CUPTI fills with records. CUPTI's callbacks have no place for an object of ours:
// there is one of these in a process, and it is never destroyed, since a buffer may come back late.
#ifndef PENSTOCK_TRAINER_CUDA_CUPTI_BUFFERS_H_
#define PENSTOCK_TRAINER_CUDA_CUPTI_BUFFERS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "trainer/cuda/cupti_library.h"

namespace penstock {

struct CuptiOptions {
  size_t buffer_bytes = size_t{1} << 20;
  size_t most_buffers =
      256;  // Filled or being filled; where CUPTI wants more, records are dropped.
  // For buffers that CUPTI completes on a thread of its own after it was told to.
  std::chrono::milliseconds patience{2000};
};

// Callbacks only move buffers: nothing of CUPTI's is called while a mutex of ours is held, nor the
// other way round. Thread-safe.
class CuptiBuffers {
 public:
  struct Buffer {
    std::unique_ptr<uint64_t[]> words;  // Aligned to 8 bytes, as CUPTI wants it.
    size_t valid_bytes = 0;
    uint64_t session = 0;

    uint8_t* bytes() const { return reinterpret_cast<uint8_t*>(words.get()); }
  };
  struct Filled {
    std::vector<Buffer> buffers;  // In the order in which they came back.
    size_t missing = 0;           // That CUPTI has still.
    uint64_t dropped = 0;         // Records that found no room.
  };

  static CuptiBuffers& OfProcess();

  // Buffers that are lent from now on are kept when they come back.
  void Open(const CuptiLibrary& cupti, const CuptiOptions& options);
  // `wait`: until CUPTI has none of them, as long as the options say. Those that come back later
  // are forgotten.
  Filled Close(bool wait);

  // CUPTI's callbacks.
  static void Request(uint8_t** buffer, size_t* bytes, size_t* most_records);
  static void Complete(CUcontext context, uint32_t stream, uint8_t* buffer, size_t bytes,
                       size_t valid_bytes);

 private:
  uint8_t* Lend(size_t& bytes);
  void TakeBack(uint8_t* buffer, size_t valid_bytes);
  void CountDropped();

  Mutex mutex_;
  CondVar returned_;
  CuptiOptions options_ ABSL_GUARDED_BY(mutex_);
  decltype(CuptiLibrary::num_dropped) num_dropped_ ABSL_GUARDED_BY(mutex_) = nullptr;
  uint64_t session_ ABSL_GUARDED_BY(mutex_) = 0;
  bool open_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<uint8_t*, Buffer> lent_ ABSL_GUARDED_BY(mutex_);
  size_t lent_in_session_ ABSL_GUARDED_BY(mutex_) = 0;
  Filled filled_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_CUPTI_BUFFERS_H_
