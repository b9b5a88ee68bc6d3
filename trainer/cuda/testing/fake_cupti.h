// How a test drives the fake CUPTI (fake_cupti.cc), a library of its own that is found and loaded
// as the real one is.
#ifndef PENSTOCK_TRAINER_CUDA_TESTING_FAKE_CUPTI_H_
#define PENSTOCK_TRAINER_CUDA_TESTING_FAKE_CUPTI_H_

#include <cupti.h>
#include <dlfcn.h>

#include <cstdint>
#include <string>

namespace penstock {

// Thread-safe. Times are of Now(), a clock of the fake's own. What is told while its kind is not
// enabled gives no record.
class FakeCupti {
 public:
  // When buffers come back.
  enum class Completion {
    kAtFlush,     // Within the call that flushes.
    kAfterFlush,  // On another thread, once that call has returned.
    kNever,       // In ReturnHeld() alone.
  };

  virtual ~FakeCupti() = default;

  // As if it were just loaded. REQUIRES: nobody is subscribed.
  virtual void Reset() = 0;
  // From now on `function` gives `result`; of enabling, for `kind` alone unless that is 0.
  virtual void Fail(const std::string& function, CUptiResult result, int kind = 0) = 0;
  virtual void set_completion(Completion completion) = 0;
  virtual void ReturnHeld() = 0;
  // The clock is set forward.
  virtual void SetClock(int64_t by_ns) = 0;
  virtual uint64_t Now() = 0;

  // A call of the runtime on this thread that queues work: its correlation.
  virtual uint32_t Call(
      CUpti_CallbackId call = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000) = 0;
  // `name` must outlive the fake. `node`: of a graph; 0: of none.
  virtual void Kernel(uint32_t correlation, uint32_t stream, const char* name, uint64_t begin,
                      uint64_t end, uint64_t node = 0) = 0;
  virtual void Copy(uint32_t correlation, uint32_t stream, CUpti_ActivityMemcpyKind kind,
                    uint64_t bytes, uint64_t begin, uint64_t end) = 0;
  virtual void Fill(uint32_t correlation, uint32_t stream, uint64_t bytes, uint64_t begin,
                    uint64_t end) = 0;
  virtual void Overhead(uint64_t begin, uint64_t end) = 0;
  // A record of a kind that nobody asked for; one that cannot be read.
  virtual void Unknown() = 0;
  virtual void Broken() = 0;

  virtual bool subscribed() = 0;
  virtual bool recording() = 0;  // Any kind is enabled.

  // Of the library at `path`.
  static FakeCupti& At(const char* path) {
    void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    auto* control = reinterpret_cast<FakeCupti* (*)()>(dlsym(handle, "FakeCuptiControl"));
    return *control();
  }
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_TESTING_FAKE_CUPTI_H_
