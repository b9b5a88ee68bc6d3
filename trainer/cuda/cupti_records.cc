#include "trainer/cuda/cupti_records.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "trainer/profile/kernel_name.h"

namespace penstock {
namespace {

// The fields read here are in CUDA 12.4's records; newer records only append fields.
#define PENSTOCK_SAME_PLACE(a, b, field) \
  static_assert(offsetof(a, field) == offsetof(b, field), "a CUPTI that moved " #field)
#if CUPTI_API_VERSION >= 130000
PENSTOCK_SAME_PLACE(CUpti_ActivityKernel10, CUpti_ActivityKernel9, start);
PENSTOCK_SAME_PLACE(CUpti_ActivityKernel10, CUpti_ActivityKernel9, end);
PENSTOCK_SAME_PLACE(CUpti_ActivityKernel10, CUpti_ActivityKernel9, streamId);
PENSTOCK_SAME_PLACE(CUpti_ActivityKernel10, CUpti_ActivityKernel9, correlationId);
PENSTOCK_SAME_PLACE(CUpti_ActivityKernel10, CUpti_ActivityKernel9, name);
PENSTOCK_SAME_PLACE(CUpti_ActivityKernel10, CUpti_ActivityKernel9, graphNodeId);
#endif
#if CUPTI_API_VERSION >= 26  // CUDA 12.8.
PENSTOCK_SAME_PLACE(CUpti_ActivityMemcpy6, CUpti_ActivityMemcpy5, copyKind);
PENSTOCK_SAME_PLACE(CUpti_ActivityMemcpy6, CUpti_ActivityMemcpy5, bytes);
PENSTOCK_SAME_PLACE(CUpti_ActivityMemcpy6, CUpti_ActivityMemcpy5, start);
PENSTOCK_SAME_PLACE(CUpti_ActivityMemcpy6, CUpti_ActivityMemcpy5, end);
PENSTOCK_SAME_PLACE(CUpti_ActivityMemcpy6, CUpti_ActivityMemcpy5, streamId);
PENSTOCK_SAME_PLACE(CUpti_ActivityMemcpy6, CUpti_ActivityMemcpy5, correlationId);
PENSTOCK_SAME_PLACE(CUpti_ActivityMemcpy6, CUpti_ActivityMemcpy5, graphNodeId);
#endif
PENSTOCK_SAME_PLACE(CUpti_ActivityOverhead3, CUpti_ActivityOverhead2, start);
PENSTOCK_SAME_PLACE(CUpti_ActivityOverhead3, CUpti_ActivityOverhead2, end);
#undef PENSTOCK_SAME_PLACE

template <typename Record>
const Record& As(const CUpti_Activity& record) {
  return reinterpret_cast<const Record&>(record);
}

const char* CopyName(uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "copy host to device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "copy device to host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return "copy on the device";
    default:
      return "copy";
  }
}

bool IsOfNccl(const std::string& name) { return absl::StrContains(name, "nccl"); }

}  // namespace

bool CuptiRecords::HasRoom() {
  if (work_.size() + calls_.size() + launches_.size() < most_) return true;
  ++dropped_;
  return false;
}

uint32_t CuptiRecords::IdOf(const std::string& name) {
  const auto [at, is_new] = ids_.emplace(name, static_cast<uint32_t>(names_.size()));
  if (is_new) names_.push_back(ShortKernelName(name));
  return at->second;
}

template <typename Record>
void CuptiRecords::AddWork(const Record& record, const char* name, uint64_t bytes) {
  if (record.start == 0 || record.end == 0) {
    ++untimed_;
  } else if (HasRoom()) {
    work_.push_back({IdOf(name == nullptr ? "a kernel without a name" : name), record.streamId,
                     record.correlationId, record.graphNodeId != 0, bytes, record.start,
                     record.end});
  }
}

void CuptiRecords::Add(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = As<CUpti_ActivityKernel9>(record);
      return AddWork(kernel, kernel.name, 0);
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = As<CUpti_ActivityMemcpy5>(record);
      return AddWork(copy, CopyName(copy.copyKind), copy.bytes);
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& set = As<CUpti_ActivityMemset4>(record);
      return AddWork(set, "fill", set.bytes);
    }
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: {
      const auto& call = As<CUpti_ActivityAPI>(record);
      if (!HasRoom()) return;
      calls_.push_back({record.kind == CUPTI_ACTIVITY_KIND_RUNTIME ? CUPTI_CB_DOMAIN_RUNTIME_API
                                                                   : CUPTI_CB_DOMAIN_DRIVER_API,
                        call.cbid, call.threadId, call.correlationId, call.start, call.end});
      return;
    }
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto& id = As<CUpti_ActivityExternalCorrelation>(record);
      if (id.externalKind != CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0 || !HasRoom()) return;
      launches_[id.correlationId] = id.externalId;
      return;
    }
    case CUPTI_ACTIVITY_KIND_OVERHEAD: {
      const auto& overhead = As<CUpti_ActivityOverhead3>(record);
      if (overhead.end > overhead.start) overhead_ns_ += overhead.end - overhead.start;
      return;
    }
    default:
      return;
  }
}

std::vector<uint32_t> CuptiRecords::Communicating() const {
  std::set<uint32_t> streams;
  for (const Work& work : work_) {
    if (IsOfNccl(names_[work.name])) streams.insert(work.stream);
  }
  return {streams.begin(), streams.end()};
}

uint32_t CuptiRecords::StreamOf(const Work& work, const std::map<uint32_t, std::string>& known,
                                std::map<uint32_t, uint32_t>& ids, DeviceRecords& records) const {
  const auto [at, is_new] = ids.emplace(work.stream, static_cast<uint32_t>(records.streams.size()));
  if (is_new) {
    const auto name = known.find(work.stream);
    records.streams.push_back(name == known.end() ? absl::StrCat("stream ", work.stream)
                                                  : name->second);
  }
  return at->second;
}

DeviceRecords CuptiRecords::Take(const CuptiLibrary& cupti, const ClockMap& clock,
                                 const std::map<uint32_t, std::string>& streams) const {
  DeviceRecords records{.source = cupti.version,
                        .every_kernel = true,
                        .names = names_,
                        .dropped = dropped_,
                        .untimed = untimed_,
                        .overhead = std::chrono::nanoseconds(overhead_ns_)};
  std::map<uint32_t, std::string> known = streams;
  for (uint32_t stream : Communicating()) {
    known.emplace(stream, absl::StrCat("communication, stream ", stream));
  }
  std::map<uint32_t, uint32_t> ids;
  for (const Work& work : work_) {
    DeviceWork made{.name = work.name,
                    .stream = StreamOf(work, known, ids, records),
                    .correlation = work.correlation,
                    .in_graph = work.in_graph,
                    .communicates = IsOfNccl(names_[work.name]),
                    .bytes = work.bytes,
                    .begin = clock.ToHost(work.begin),
                    .end = clock.ToHost(work.end)};
    const auto launch = launches_.find(work.correlation);
    if (launch != launches_.end()) made.launch = static_cast<size_t>(launch->second);
    records.work.push_back(made);
  }
  std::map<std::string, uint32_t> names;
  for (const Call& call : calls_) {
    const std::string name = cupti.CallName(call.domain, call.call);
    const auto [at, is_new] = names.emplace(name, static_cast<uint32_t>(records.names.size()));
    if (is_new) records.names.push_back(name);
    records.calls.push_back({.name = at->second,
                             .thread = call.thread,
                             .correlation = call.correlation,
                             .begin = clock.ToHost(call.begin),
                             .end = clock.ToHost(call.end)});
  }
  if (broken_ > 0) {
    records.notes.push_back(
        absl::StrCat(broken_,
                     " buffers of CUPTI's records contain an unreadable record: the records after "
                     "it are missing from the trace"));
  }
  return records;
}

}  // namespace penstock
