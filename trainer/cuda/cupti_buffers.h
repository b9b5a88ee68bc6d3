// The buffers that CUPTI fills with records. CUPTI's callbacks cannot pass an object of ours, so
// there is one CuptiBuffers per process. It is never destroyed, because a buffer may come back
// late.
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
  // Most buffers that are filled or being filled. If CUPTI needs more, records are dropped.
  size_t most_buffers = 256;
  // How long to wait for buffers that CUPTI completes on its own thread after a flush.
  std::chrono::milliseconds patience{2000};
};

// Callbacks only move buffers. No CUPTI function is called while the mutex is held, because CUPTI
// may run a callback, which locks it. Thread-safe.
class CuptiBuffers {
 public:
  struct Buffer {
    std::unique_ptr<uint64_t[]> words;  // CUPTI requires alignment to 8 bytes.
    size_t valid_bytes = 0;
    uint64_t session = 0;

    uint8_t* bytes() const { return reinterpret_cast<uint8_t*>(words.get()); }
  };
  struct Filled {
    std::vector<Buffer> buffers;  // In the order in which CUPTI returned them.
    size_t missing = 0;           // Number of buffers that CUPTI still holds.
    uint64_t dropped = 0;         // Records that were dropped for lack of room.
  };

  static CuptiBuffers& OfProcess();

  // Begins a recording: buffers that are lent from now on are kept when they come back.
  void Open(const CuptiLibrary& cupti, const CuptiOptions& options);
  // Returns the kept buffers. If `wait`, first waits until CUPTI holds none of them, but not longer
  // than the options allow. Discards buffers that come back later.
  Filled Close(bool wait);

  // Callbacks for CUPTI.
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
