#include "trainer/backend/device/testing/checking_device.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace penstock {
namespace {

constexpr size_t kHistory = 400;  // A new operation is compared with this many earlier ones.

char* Begin(const DeviceOperand& operand) { return static_cast<char*>(operand.at); }

bool Conflict(const DeviceOperand& a, const DeviceOperand& b) {
  if (a.access == Access::kRead && b.access == Access::kRead) return false;
  return Begin(a) < Begin(b) + b.bytes && Begin(b) < Begin(a) + a.bytes;
}

// The host memory that a copy reads.
std::string SourceOf(const DeviceOp& op) {
  if (op.kind != DeviceOpKind::kCopy || !op.operands[0].host) return "";
  return {Begin(op.operands[0]), op.operands[0].bytes};
}

}  // namespace

CheckingDevice::CheckingDevice(std::unique_ptr<EmulatedDevice> device, DeviceLog& log)
    : CheckingDevice{*device, std::move(device), log} {}  // Braces evaluate from left to right.

CheckingDevice::CheckingDevice(EmulatedDevice& watched, std::unique_ptr<Device> device,
                               DeviceLog& log)
    : ForwardingDevice(std::move(device)), log_(log) {
  watched.set_watch(
      [this](const DeviceOp& op, DeviceQueue queue, absl::FunctionRef<absl::Status()> execute) {
        return RunWatched(op, queue, execute);
      });
}

void CheckingDevice::Advance(Clock& clock, const Clock& other) {
  for (size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

std::vector<DeviceOperand> CheckingDevice::OperandsOf(const DeviceOp& op) const {
  std::vector<DeviceOperand> operands = op.operands;
  if (op.workspace.bytes > 0) operands.push_back(op.workspace);
  return operands;
}

CheckingDevice::Allocation* CheckingDevice::Find(const DeviceOperand& operand) {
  for (Allocation& allocation : allocations_) {
    if (Begin(operand) >= allocation.begin &&
        Begin(operand) + operand.bytes <= allocation.begin + allocation.written.size()) {
      return &allocation;
    }
  }
  return nullptr;
}

std::string CheckingDevice::Describe(const DeviceOp& op) {
  std::string text = absl::StrCat(DeviceOpName(op.kind), " ", op.rows, "x", op.in, "x", op.out);
  for (const DeviceOperand& operand : OperandsOf(op)) {
    const Allocation* allocation = Find(operand);
    absl::StrAppend(&text, operand.access == Access::kRead ? " r " : " w ");
    if (allocation == nullptr) {
      absl::StrAppend(&text, operand.host ? "host" : "nowhere");
    } else {
      absl::StrAppend(&text, allocation - allocations_.data(), "+",
                      Begin(operand) - allocation->begin);
    }
    absl::StrAppend(&text, ":", operand.bytes);
  }
  return text;
}

void CheckingDevice::CheckPlaces(const DeviceOp& op) {
  for (const DeviceOperand& operand : OperandsOf(op)) {
    Allocation* allocation = Find(operand);
    if (allocation == nullptr) {
      if (!operand.host) log_.problems.push_back(Describe(op) + ": an operand in no allocation");
      continue;
    }
    const auto first = allocation->written.begin() + (Begin(operand) - allocation->begin);
    const auto last = first + static_cast<std::ptrdiff_t>(operand.bytes);
    if (operand.access != Access::kWrite && !operand.host &&
        std::find(first, last, false) != last) {
      log_.problems.push_back(Describe(op) + ": reads what was never written");
    }
  }
  for (const DeviceOperand& operand : OperandsOf(op)) {
    Allocation* allocation = Find(operand);
    if (allocation == nullptr || operand.access == Access::kRead) continue;
    const auto first = allocation->written.begin() + (Begin(operand) - allocation->begin);
    std::fill_n(first, operand.bytes, true);
  }
}

void CheckingDevice::CheckOrder(const DeviceOp& op, size_t stream) {
  Advance(streams_[stream], host_);
  const size_t first = done_.size() > kHistory ? done_.size() - kHistory : 0;
  for (size_t i = first; i < done_.size(); ++i) {
    const Noted& before = done_[i];
    if (streams_[stream][before.stream] >= before.number || before.stream == stream) continue;
    for (const DeviceOperand& a : OperandsOf(op)) {
      for (const DeviceOperand& b : OperandsOf(before.op)) {
        if (!Conflict(a, b)) continue;
        log_.problems.push_back(
            absl::StrCat(Describe(before.op), " and ", Describe(op), " are in no order"));
      }
    }
  }
  ++streams_[stream][stream];
  done_.push_back({op, stream, streams_[stream][stream]});
}

void CheckingDevice::Note(DeviceQueue queue, std::function<void()> note) {
  if (capturing_ && queue != DeviceQueue::kCopy) {
    captured_.push_back(std::move(note));
  } else {
    note();
  }
}

void CheckingDevice::NoteOp(const DeviceOp& op, DeviceQueue queue) {
  log_.ops.push_back(Describe(op));
  CheckPlaces(op);
  CheckOrder(op, static_cast<size_t>(queue));
  // The data of other libraries' operations is not checked.
  if (op.kind == DeviceOpKind::kExchange) return;
  sources_[static_cast<size_t>(queue)].push_back(SourceOf(op));
}

void CheckingDevice::NoteRecord(DeviceEvent event, DeviceQueue queue) {
  Advance(streams_[static_cast<size_t>(queue)], host_);
  events_[event] = streams_[static_cast<size_t>(queue)];
}

void CheckingDevice::CheckSource(const DeviceOp& op, DeviceQueue queue) {
  std::deque<std::string>& sources = sources_[static_cast<size_t>(queue)];
  if (sources.front() != SourceOf(op)) {
    log_.problems.push_back(Describe(op) + ": the host's memory changed before it was copied");
  }
  sources.pop_front();
}

absl::Status CheckingDevice::RunWatched(const DeviceOp& op, DeviceQueue queue,
                                        absl::FunctionRef<absl::Status()> execute) {
  CheckSource(op, queue);
  std::vector<std::string> before;
  for (const Allocation& a : allocations_) before.emplace_back(a.begin, a.written.size());
  PENSTOCK_RETURN_IF_ERROR(execute());
  for (const DeviceOperand& operand : OperandsOf(op)) {
    const Allocation* allocation = Find(operand);
    if (allocation == nullptr || operand.access == Access::kRead) continue;
    // Accepts the current content of operands that may be written.
    std::string& image = before[static_cast<size_t>(allocation - allocations_.data())];
    std::memcpy(image.data() + (Begin(operand) - allocation->begin), operand.at, operand.bytes);
  }
  for (size_t i = 0; i < allocations_.size(); ++i) {
    if (std::memcmp(before[i].data(), allocations_[i].begin, before[i].size()) == 0) continue;
    log_.problems.push_back(
        absl::StrCat(Describe(op), ": writes to allocation ", i, ", and does not say so"));
  }
  return absl::OkStatus();
}

absl::StatusOr<void*> CheckingDevice::Allocate(size_t bytes) {
  PENSTOCK_ASSIGN_OR_RETURN(void* memory, device().Allocate(bytes));
  allocations_.push_back({static_cast<char*>(memory), std::vector<bool>(bytes)});
  return memory;
}

absl::StatusOr<void*> CheckingDevice::AllocateHost(size_t bytes) {
  PENSTOCK_ASSIGN_OR_RETURN(void* memory, device().AllocateHost(bytes));
  allocations_.push_back({static_cast<char*>(memory), std::vector<bool>(bytes)});
  return memory;
}

// Keeps the entry, so that the other allocations keep their numbers.
void CheckingDevice::FreeHost(void* memory) {
  for (Allocation& allocation : allocations_) {
    if (allocation.begin == memory) allocation = {};
  }
  device().FreeHost(memory);
}

absl::Status CheckingDevice::Run(const DeviceOp& op, DeviceQueue queue) {
  Note(queue, [=, this] { NoteOp(op, queue); });
  return device().Run(op, queue);
}

absl::Status CheckingDevice::RunForeign(const DeviceOp& op, DeviceQueue queue,
                                        absl::FunctionRef<absl::Status()> work) {
  Note(queue, [=, this] { NoteOp(op, queue); });
  return device().RunForeign(op, queue, work);
}

absl::Status CheckingDevice::Record(DeviceEvent event, DeviceQueue queue) {
  Note(queue, [=, this] { NoteRecord(event, queue); });
  return device().Record(event, queue);
}

absl::Status CheckingDevice::Wait(DeviceEvent event, DeviceQueue queue) {
  Note(queue, [=, this] { Advance(streams_[static_cast<size_t>(queue)], events_[event]); });
  return device().Wait(event, queue);
}

absl::Status CheckingDevice::Synchronize(DeviceQueue queue) {
  Advance(host_, streams_[static_cast<size_t>(queue)]);
  return device().Synchronize(queue);
}

absl::Status CheckingDevice::Await(DeviceEvent event) {
  Advance(host_, events_[event]);
  return device().Await(event);
}

absl::StatusOr<bool> CheckingDevice::Done(DeviceEvent event) {
  absl::StatusOr<bool> done = device().Done(event);
  if (done.ok() && *done) Advance(host_, events_[event]);
  return done;
}

absl::StatusOr<bool> CheckingDevice::Done(DeviceQueue queue) {
  absl::StatusOr<bool> done = device().Done(queue);
  if (done.ok() && *done) Advance(host_, streams_[static_cast<size_t>(queue)]);
  return done;
}

absl::Status CheckingDevice::BeginCapture() {
  capturing_ = true;
  captured_.clear();
  return device().BeginCapture();
}

absl::StatusOr<DeviceGraph> CheckingDevice::EndCapture() {
  capturing_ = false;
  PENSTOCK_ASSIGN_OR_RETURN(const DeviceGraph graph, device().EndCapture());
  graphs_[graph] = captured_;
  return graph;
}

absl::Status CheckingDevice::Launch(DeviceGraph graph) {
  ++log_.launched_graphs;
  for (const std::function<void()>& note : graphs_[graph]) note();
  return device().Launch(graph);
}

void CheckingDevice::EndGraphs() {
  graphs_.clear();
  device().EndGraphs();
}

}  // namespace penstock
