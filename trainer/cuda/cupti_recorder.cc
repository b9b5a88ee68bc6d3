#include "trainer/cuda/cupti_recorder.h"

#include <array>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "trainer/cuda/cuda_libraries.h"
#include "trainer/cuda/cupti_library.h"
#include "trainer/cuda/cupti_records.h"
#include "trainer/cuda/library_search.h"
#include "trainer/cuda/open_cupti.h"
#include "trainer/profile/clock_map.h"

namespace penstock {
namespace {

constexpr auto kOurs = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
constexpr size_t kMostRecords = 4'000'000;

struct Activity {
  CUpti_ActivityKind kind;
  bool needed;  // If false, a trace is useful without it.
};
constexpr std::array<Activity, 7> kActivities = {
    {{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, true},
     {CUPTI_ACTIVITY_KIND_MEMCPY, true},
     {CUPTI_ACTIVITY_KIND_MEMSET, true},
     {CUPTI_ACTIVITY_KIND_RUNTIME, true},
     {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, true},
     {CUPTI_ACTIVITY_KIND_DRIVER, false},  // cuBLASLt may launch without the runtime.
     {CUPTI_ACTIVITY_KIND_OVERHEAD, false}}};

class Recorder final : public CuptiRecorder {
 public:
  Recorder(const CuptiLibrary& cupti, const CuptiOptions& options)
      : cupti_(cupti), options_(options) {}
  // Does not call cuptiFinalize(): in CUDA 12 it is known to break graphs that are launched
  // afterwards.
  ~Recorder() override {
    if (recording_) (void)Stop();
    if (subscriber_ != nullptr) (void)cupti_.unsubscribe(subscriber_);
  }

  absl::Status Subscribe();
  void NameStreams(std::vector<NamedStream> streams) override { named_ = std::move(streams); }
  absl::Status Start() override;
  absl::Status Begin(size_t launch, size_t, const char*) override {
    return cupti_.Check(cupti_.push_id(kOurs, launch), "cuptiActivityPushExternalCorrelationId");
  }
  absl::Status End() override {
    uint64_t launch = 0;
    return cupti_.Check(cupti_.pop_id(kOurs, &launch), "cuptiActivityPopExternalCorrelationId");
  }
  absl::StatusOr<DeviceRecords> Stop() override;

 private:
  absl::Status Enable();
  absl::Status Disable();
  absl::Status Flush() const;
  absl::StatusOr<ClockPair> PairWithHost() const;
  std::map<uint32_t, std::string> StreamNames() const;
  CuptiRecords Read(const CuptiBuffers::Filled& filled) const;

  const CuptiLibrary cupti_;
  const CuptiOptions options_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::vector<NamedStream> named_;
  std::vector<CUpti_ActivityKind> enabled_;
  ClockPair begin_;
  bool recording_ = false;
};

// CUPTI requires a callback; it is enabled for no event.
absl::Status Recorder::Subscribe() {
  CUpti_SubscriberHandle subscriber = nullptr;
  const auto nothing = [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {};
  PENSTOCK_RETURN_IF_ERROR(
      cupti_.Check(cupti_.subscribe(&subscriber, nothing, nullptr), "cuptiSubscribe"));
  subscriber_ = subscriber;
  return cupti_.Check(cupti_.register_callbacks(CuptiBuffers::Request, CuptiBuffers::Complete),
                      "cuptiActivityRegisterCallbacks");
}

absl::Status Recorder::Enable() {
  for (const Activity& activity : kActivities) {
    const CUptiResult result = cupti_.enable(activity.kind);
    if (result == CUPTI_SUCCESS) enabled_.push_back(activity.kind);
    if (activity.needed) PENSTOCK_RETURN_IF_ERROR(cupti_.Check(result, "cuptiActivityEnable"));
  }
  return absl::OkStatus();
}

absl::Status Recorder::Disable() {
  absl::Status first;
  for (const CUpti_ActivityKind kind : enabled_) {
    first.Update(cupti_.Check(cupti_.disable(kind), "cuptiActivityDisable"));
  }
  enabled_.clear();
  return first;
}

absl::StatusOr<ClockPair> Recorder::PairWithHost() const {
  CUptiResult result = CUPTI_SUCCESS;
  const ClockPair pair = PairClocks([&] {
    uint64_t time = 0;
    if (const CUptiResult one = cupti_.timestamp(&time); one != CUPTI_SUCCESS) result = one;
    return time;
  });
  PENSTOCK_RETURN_IF_ERROR(cupti_.Check(result, "cuptiGetTimestamp"));
  if (pair.other_ns == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(cupti_.version, ": its clock does not advance"));
  }
  return pair;
}

absl::Status Recorder::Start() {
  PENSTOCK_ASSIGN_OR_RETURN(begin_, PairWithHost());
  CuptiBuffers::OfProcess().Open(cupti_, options_);
  recording_ = true;
  const absl::Status enabled = Enable();
  if (!enabled.ok()) {
    (void)Disable();  // Only the first error is reported.
    (void)CuptiBuffers::OfProcess().Close(/*wait=*/false);
    recording_ = false;
  }
  return enabled;
}

// First flushes the buffers whose records are complete, which should be all of them. Then flushes
// the rest, so that no buffer stays behind.
absl::Status Recorder::Flush() const {
  PENSTOCK_RETURN_IF_ERROR(cupti_.Check(cupti_.flush_all(0), "cuptiActivityFlushAll"));
  return cupti_.Check(cupti_.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "cuptiActivityFlushAll");
}

std::map<uint32_t, std::string> Recorder::StreamNames() const {
  std::map<uint32_t, std::string> names;
  for (const NamedStream& stream : named_) {
    uint32_t id = 0;
    const auto handle = static_cast<CUstream>(stream.handle);
    if (cupti_.stream_id(nullptr, handle, 0, &id) == CUPTI_SUCCESS) names[id] = stream.name;
  }
  return names;
}

CuptiRecords Recorder::Read(const CuptiBuffers::Filled& filled) const {
  CuptiRecords records(kMostRecords);
  for (const CuptiBuffers::Buffer& buffer : filled.buffers) {
    CUpti_Activity* record = nullptr;
    CUptiResult result = CUPTI_SUCCESS;
    while ((result = cupti_.next_record(buffer.bytes(), buffer.valid_bytes, &record)) ==
           CUPTI_SUCCESS) {
      records.Add(*record);
    }
    if (result != CUPTI_ERROR_MAX_LIMIT_REACHED) records.CountBroken();
  }
  records.CountDropped(filled.dropped);
  return records;
}

absl::StatusOr<DeviceRecords> Recorder::Stop() {
  recording_ = false;
  absl::Status stopped = Disable();
  stopped.Update(Flush());
  const CuptiBuffers::Filled filled = CuptiBuffers::OfProcess().Close(/*wait=*/stopped.ok());
  PENSTOCK_RETURN_IF_ERROR(stopped);
  PENSTOCK_ASSIGN_OR_RETURN(const ClockPair end, PairWithHost());
  const ClockMap clock(begin_, end);
  DeviceRecords records = Read(filled).Take(cupti_, clock, StreamNames());
  if (filled.missing > 0) {
    records.notes.push_back(
        absl::StrCat("CUPTI did not return ", filled.missing,
                     " buffers of records: their work is missing from the trace"));
  }
  if (clock.was_set()) {
    records.notes.emplace_back(
        "the system clock was changed while steps were recorded: the tracks of streams may be "
        "shifted against those of the host");
  }
  return records;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CuptiRecorder>> OpenCuptiFrom(
    const LibrarySpec& spec, const std::vector<std::string>& folders, const CuptiOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(const CuptiLibrary cupti, CuptiLibrary::LoadFrom(spec, folders));
  auto recorder = std::make_unique<Recorder>(cupti, options);
  PENSTOCK_RETURN_IF_ERROR(recorder->Subscribe());
  return recorder;
}

absl::StatusOr<std::unique_ptr<CuptiRecorder>> OpenCupti() {
  return OpenCuptiFrom(CuptiSpec(), LibraryFolders(LibraryEnvironment::FromProcess()));
}

}  // namespace penstock
