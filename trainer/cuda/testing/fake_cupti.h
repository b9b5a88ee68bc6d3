// Controls for the fake CUPTI (fake_cupti.cc), a separate library that is found and loaded like the
// real one.
#ifndef PENSTOCK_TRAINER_CUDA_TESTING_FAKE_CUPTI_H_
#define PENSTOCK_TRAINER_CUDA_TESTING_FAKE_CUPTI_H_

#include <cupti.h>
#include <dlfcn.h>

#include <cstdint>
#include <string>

namespace penstock {

// Thread-safe. Times are those of Now(), the fake's own clock. Events of a kind that is not enabled
// give no record.
class FakeCupti {
 public:
  // When buffers are returned.
  enum class Completion {
    kAtFlush,     // Buffers return within the flushing call.
    kAfterFlush,  // They return on another thread, after that call has returned.
    kNever,       // They return only in ReturnHeld().
  };

  virtual ~FakeCupti() = default;

  // Resets it to the state just after loading. REQUIRES: there is no subscriber.
  virtual void Reset() = 0;
  // Makes later calls of `function` return `result`. Calls that enable a kind fail only for `kind`,
  // unless that is 0.
  virtual void Fail(const std::string& function, CUptiResult result, int kind = 0) = 0;
  virtual void set_completion(Completion completion) = 0;
  virtual void ReturnHeld() = 0;
  // Sets the clock forward.
  virtual void SetClock(int64_t by_ns) = 0;
  virtual uint64_t Now() = 0;

  // Records a runtime call on this thread that queues work. Returns its correlation ID.
  virtual uint32_t Call(
      CUpti_CallbackId call = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000) = 0;
  // `name` must outlive the fake. `node` is the node in a graph; 0 means in no graph.
  virtual void Kernel(uint32_t correlation, uint32_t stream, const char* name, uint64_t begin,
                      uint64_t end, uint64_t node = 0) = 0;
  virtual void Copy(uint32_t correlation, uint32_t stream, CUpti_ActivityMemcpyKind kind,
                    uint64_t bytes, uint64_t begin, uint64_t end) = 0;
  virtual void Fill(uint32_t correlation, uint32_t stream, uint64_t bytes, uint64_t begin,
                    uint64_t end) = 0;
  virtual void Overhead(uint64_t begin, uint64_t end) = 0;
  // Unknown() adds a record of an unrequested kind; Broken() adds one that cannot be read.
  virtual void Unknown() = 0;
  virtual void Broken() = 0;

  virtual bool subscribed() = 0;
  virtual bool recording() = 0;  // Whether any kind is enabled.

  // Returns the controls of the library at `path`.
  static FakeCupti& At(const char* path) {
    void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    auto* control = reinterpret_cast<FakeCupti* (*)()>(dlsym(handle, "FakeCuptiControl"));
    return *control();
  }
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_TESTING_FAKE_CUPTI_H_
