// A library with the CUPTI functions that the trainer uses. It fills buffers with the records that
// a test creates. Each record follows its size, which only this library reads.
#include "trainer/cuda/testing/fake_cupti.h"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace {

using penstock::FakeCupti;

// The newest record types in the header, as a library of its age would write them.
#if CUPTI_API_VERSION >= 130000
using KernelRecord = CUpti_ActivityKernel10;
#else
using KernelRecord = CUpti_ActivityKernel9;
#endif
#if CUPTI_API_VERSION >= 26  // CUDA 12.8.
using CopyRecord = CUpti_ActivityMemcpy6;
#else
using CopyRecord = CUpti_ActivityMemcpy5;
#endif

constexpr int kUnknownKind = 9999, kBrokenKind = 0;

thread_local std::vector<uint64_t> external_ids;

struct Filling {
  uint8_t* at = nullptr;
  size_t bytes = 0, used = 0;
};

class Fake final : public FakeCupti {
 public:
  ~Fake() override {
    for (std::thread& thread : threads_) thread.join();
  }

  void Reset() override {
    std::vector<std::thread> threads;
    {
      const std::lock_guard lock(mutex_);
      threads.swap(threads_);
    }
    for (std::thread& thread : threads) thread.join();
    ReturnHeld();
    const std::lock_guard lock(mutex_);
    failures_.clear();
    enabled_.clear();
    completion_ = Completion::kAtFlush;
    clock_ns_ = 0;
    dropped_ = 0;
    correlation_ = 0;
  }
  void Fail(const std::string& function, CUptiResult result, int kind) override {
    const std::lock_guard lock(mutex_);
    failures_[{function, kind}] = result;
  }
  void set_completion(Completion completion) override {
    const std::lock_guard lock(mutex_);
    completion_ = completion;
  }
  void ReturnHeld() override {
    std::vector<Filling> held;
    {
      const std::lock_guard lock(mutex_);
      held.swap(held_);
    }
    Return(held);
  }
  void SetClock(int64_t by_ns) override {
    const std::lock_guard lock(mutex_);
    clock_ns_ += by_ns;
  }
  uint64_t Now() override {
    timespec now = {};
    clock_gettime(CLOCK_REALTIME, &now);
    const std::lock_guard lock(mutex_);
    return static_cast<uint64_t>(now.tv_sec * 1'000'000'000 + now.tv_nsec + clock_ns_);
  }

  uint32_t Call(CUpti_CallbackId call) override {
    const uint64_t begin = Now();
    const std::lock_guard lock(mutex_);
    const uint32_t correlation = ++correlation_;
    if (!external_ids.empty()) {
      Write(
          CUpti_ActivityExternalCorrelation{.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                            .externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0,
                                            .externalId = external_ids.back(),
                                            .correlationId = correlation,
                                            .reserved = 0});
    }
    CUpti_ActivityAPI record = {};
    record.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
    record.cbid = call;
    record.start = begin;
    record.end = begin + 1000;
    record.threadId =
        static_cast<uint32_t>(std::hash<std::thread::id>()(std::this_thread::get_id()));
    record.correlationId = correlation;
    Write(record);
    return correlation;
  }
  void Kernel(uint32_t correlation, uint32_t stream, const char* name, uint64_t begin, uint64_t end,
              uint64_t node) override {
    KernelRecord record = {};
    record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    record.name = name;
    record.graphNodeId = node;
    WriteWork(record, correlation, stream, begin, end);
  }
  void Copy(uint32_t correlation, uint32_t stream, CUpti_ActivityMemcpyKind kind, uint64_t bytes,
            uint64_t begin, uint64_t end) override {
    CopyRecord record = {};
    record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
    record.copyKind = static_cast<uint8_t>(kind);
    record.bytes = bytes;
    WriteWork(record, correlation, stream, begin, end);
  }
  void Fill(uint32_t correlation, uint32_t stream, uint64_t bytes, uint64_t begin,
            uint64_t end) override {
    CUpti_ActivityMemset4 record = {};
    record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
    record.bytes = bytes;
    WriteWork(record, correlation, stream, begin, end);
  }
  void Overhead(uint64_t begin, uint64_t end) override {
    CUpti_ActivityOverhead3 record = {};
    record.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
    record.start = begin;
    record.end = end;
    const std::lock_guard lock(mutex_);
    Write(record);
  }
  void Unknown() override { WriteAlways(kUnknownKind); }
  void Broken() override { WriteAlways(kBrokenKind); }

  bool subscribed() override {
    const std::lock_guard lock(mutex_);
    return subscribed_;
  }
  bool recording() override {
    const std::lock_guard lock(mutex_);
    return !enabled_.empty();
  }

  // The result of a library function.
  CUptiResult Result(const std::string& function, int kind = 0) {
    const std::lock_guard lock(mutex_);
    const auto failure = failures_.find({function, kind});
    return failure == failures_.end() ? CUPTI_SUCCESS : failure->second;
  }
  CUptiResult Subscribe(CUpti_SubscriberHandle* subscriber) {
    const std::lock_guard lock(mutex_);
    if (subscribed_) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    subscribed_ = true;
    *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(this);
    return CUPTI_SUCCESS;
  }
  void Unsubscribe() {
    const std::lock_guard lock(mutex_);
    subscribed_ = false;
  }
  void Register(CUpti_BuffersCallbackRequestFunc request,
                CUpti_BuffersCallbackCompleteFunc complete) {
    const std::lock_guard lock(mutex_);
    request_ = request;
    complete_ = complete;
  }
  void Enable(int kind, bool on) {
    const std::lock_guard lock(mutex_);
    if (on) enabled_.insert(kind);
    if (!on) enabled_.erase(kind);
  }
  void Flush() {
    std::vector<Filling> ready;
    {
      const std::lock_guard lock(mutex_);
      if (filling_.at != nullptr) held_.push_back(std::exchange(filling_, {}));
      if (completion_ == Completion::kNever) return;
      ready.swap(held_);
      if (completion_ == Completion::kAfterFlush) {
        // Runs on a separate thread, so that later work of the flushing thread may come before or
        // after it.
        threads_.emplace_back([this, ready = std::move(ready)] { Return(ready); });
        return;
      }
    }
    Return(ready);
  }
  size_t TakeDropped() {
    const std::lock_guard lock(mutex_);
    return std::exchange(dropped_, 0);
  }

 private:
  void Return(const std::vector<Filling>& fillings) const {
    for (const Filling& filling : fillings) {
      complete_(nullptr, 0, filling.at, filling.bytes, filling.used);
    }
  }
  template <typename Record>
  void WriteWork(Record& record, uint32_t correlation, uint32_t stream, uint64_t begin,
                 uint64_t end) {
    record.correlationId = correlation;
    record.streamId = stream;
    record.start = begin;
    record.end = end;
    const std::lock_guard lock(mutex_);
    Write(record);
  }
  void WriteAlways(int kind) {
    CUpti_ActivityAPI record = {};
    record.kind = static_cast<CUpti_ActivityKind>(kind);
    const std::lock_guard lock(mutex_);
    Append(&record, sizeof(record));
  }
  template <typename Record>
  void Write(const Record& record) {
    if (enabled_.contains(record.kind)) Append(&record, sizeof(record));
  }
  // A full buffer waits for the next flush.
  void Append(const void* record, uint64_t size) {
    const uint64_t room = (size + 7) / 8 * 8;
    if (filling_.at != nullptr && filling_.used + 8 + room > filling_.bytes) {
      held_.push_back(std::exchange(filling_, {}));
    }
    if (filling_.at == nullptr) {
      size_t most = 0;
      request_(&filling_.at, &filling_.bytes, &most);
    }
    if (filling_.at == nullptr || 8 + room > filling_.bytes) {
      ++dropped_;
      return;
    }
    std::memcpy(filling_.at + filling_.used, &room, 8);
    std::memcpy(filling_.at + filling_.used + 8, record, size);
    filling_.used += 8 + room;
  }

  std::mutex mutex_;
  std::map<std::pair<std::string, int>, CUptiResult> failures_;
  std::set<int> enabled_;
  Completion completion_ = Completion::kAtFlush;
  int64_t clock_ns_ = 0;
  bool subscribed_ = false;
  size_t dropped_ = 0;
  uint32_t correlation_ = 0;
  CUpti_BuffersCallbackRequestFunc request_ = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete_ = nullptr;
  Filling filling_;
  std::vector<Filling> held_;
  std::vector<std::thread> threads_;
};

Fake& TheFake() {
  static Fake fake;
  return fake;
}

#define FAIL_IF_TOLD(...) \
  if (const CUptiResult told = TheFake().Result(__VA_ARGS__); told != CUPTI_SUCCESS) return told

}  // namespace

extern "C" {

__attribute__((visibility("default"))) FakeCupti* FakeCuptiControl() { return &TheFake(); }

CUptiResult cuptiGetVersion(uint32_t* version) {
  *version = 130001;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetResultString(CUptiResult result, const char** name) {
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    *name = "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED";
  } else if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES) {
    *name = "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES";
  } else {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain, uint32_t call, const char** name) {
  if (call == CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000) {
    *name = "cudaGraphLaunch_v10000";
  } else if (call == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000) {
    *name = "cudaLaunchKernel_v7000";
  } else {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  return CUPTI_SUCCESS;
}
CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc, void*) {
  FAIL_IF_TOLD("cuptiSubscribe");
  return TheFake().Subscribe(subscriber);
}
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) {
  TheFake().Unsubscribe();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  FAIL_IF_TOLD("cuptiActivityRegisterCallbacks");
  TheFake().Register(request, complete);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  FAIL_IF_TOLD("cuptiActivityEnable");
  FAIL_IF_TOLD("cuptiActivityEnable", kind);
  TheFake().Enable(kind, true);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  TheFake().Enable(kind, false);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityFlushAll(uint32_t) {
  FAIL_IF_TOLD("cuptiActivityFlushAll");
  TheFake().Flush();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_bytes,
                                       CUpti_Activity** record) {
  size_t next = 0;
  if (*record != nullptr) {
    auto* const at = reinterpret_cast<uint8_t*>(*record);
    uint64_t size = 0;
    std::memcpy(&size, at - 8, 8);
    next = static_cast<size_t>(at - buffer) + size;
  }
  if (next >= valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(buffer + next + 8);
  return (*record)->kind == kBrokenKind ? CUPTI_ERROR_INVALID_KIND : CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  *dropped = TheFake().TakeDropped();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind, uint64_t id) {
  FAIL_IF_TOLD("cuptiActivityPushExternalCorrelationId");
  external_ids.push_back(id);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind, uint64_t* id) {
  if (external_ids.empty()) return CUPTI_ERROR_QUEUE_EMPTY;
  *id = external_ids.back();
  external_ids.pop_back();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetTimestamp(uint64_t* time) {
  FAIL_IF_TOLD("cuptiGetTimestamp");
  *time = TheFake().Now();
  return CUPTI_SUCCESS;
}
// A stream's number is its handle.
CUptiResult cuptiGetStreamIdEx(CUcontext, CUstream stream, uint8_t, uint32_t* id) {
  *id = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(stream));
  return CUPTI_SUCCESS;
}

}  // extern "C"
