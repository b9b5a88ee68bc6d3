#include "trainer/cuda/testing/cupti_device.h"

#include <utility>

#include "trainer/backend/device/device_op.h"

namespace penstock {
namespace {

// A stream's number; the fake uses it as the handle.
uint32_t NumberOf(DeviceQueue queue) { return 100 + static_cast<uint32_t>(queue); }

CUpti_ActivityMemcpyKind KindOf(const DeviceOp& copy) {
  if (copy.operands[0].host) return CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  return copy.operands[1].host ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOH : CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
}

}  // namespace

CuptiDevice::CuptiDevice(std::unique_ptr<EmulatedDevice> device, FakeCupti& fake,
                         absl::StatusOr<std::unique_ptr<CuptiRecorder>> cupti)
    : CuptiDevice{*device, std::move(device), fake, std::move(cupti)} {}

CuptiDevice::CuptiDevice(EmulatedDevice& watched, std::unique_ptr<Device> device, FakeCupti& fake,
                         absl::StatusOr<std::unique_ptr<CuptiRecorder>> cupti)
    : ForwardingDevice(std::move(device)), fake_(fake), cupti_(std::move(cupti)) {
  watched.set_watch(
      [this](const DeviceOp& op, DeviceQueue queue, absl::FunctionRef<absl::Status()> execute) {
        return RunRecorded(op, queue, execute);
      });
}

// Notes the operation before forwarding it, because the device may run it at once.
absl::Status CuptiDevice::Run(const DeviceOp& op, DeviceQueue queue) {
  if (captured_.has_value() && queue == DeviceQueue::kCompute) {
    ++*captured_;
  } else {
    queued_[static_cast<size_t>(queue)].push_back({fake_.Call(), 0});
  }
  return ForwardingDevice::Run(op, queue);
}

absl::Status CuptiDevice::BeginCapture() {
  captured_ = 0;
  return ForwardingDevice::BeginCapture();
}

absl::StatusOr<DeviceGraph> CuptiDevice::EndCapture() {
  graphs_.push_back(*std::exchange(captured_, std::nullopt));
  return ForwardingDevice::EndCapture();
}

absl::Status CuptiDevice::Launch(DeviceGraph graph) {
  const uint32_t correlation = fake_.Call(CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000);
  for (size_t node = 1; node <= graphs_[graph]; ++node) {
    queued_[static_cast<size_t>(DeviceQueue::kCompute)].push_back({correlation, node});
  }
  return ForwardingDevice::Launch(graph);
}

absl::Status CuptiDevice::RunRecorded(const DeviceOp& op, DeviceQueue queue,
                                      absl::FunctionRef<absl::Status()> execute) {
  std::deque<Queued>& queued = queued_[static_cast<size_t>(queue)];
  const Queued first = queued.front();
  queued.pop_front();
  const uint64_t begin = fake_.Now();
  const absl::Status executed = execute();
  const uint64_t end = fake_.Now();
  if (op.kind == DeviceOpKind::kCopy) {
    fake_.Copy(first.correlation, NumberOf(queue), KindOf(op), op.operands[0].bytes, begin, end);
  } else if (op.kind == DeviceOpKind::kZero) {
    fake_.Fill(first.correlation, NumberOf(queue), op.operands[0].bytes, begin, end);
  } else {
    fake_.Kernel(first.correlation, NumberOf(queue), DeviceOpName(op.kind), begin, end, first.node);
  }
  return executed;
}

std::vector<std::unique_ptr<DeviceRecorder>> CuptiDevice::MakeRecorders(std::string& problem) {
  std::string emulated;
  std::vector<std::unique_ptr<DeviceRecorder>> recorders =
      ForwardingDevice::MakeRecorders(emulated);
  if (!cupti_.ok()) {
    problem = std::string(cupti_.status().message());
    return recorders;
  }
  std::vector<NamedStream> named;
  for (size_t i = 0; i < kDeviceQueues; ++i) {
    const auto queue = static_cast<DeviceQueue>(i);
    named.push_back({reinterpret_cast<void*>(uintptr_t{NumberOf(queue)}), kDeviceQueueNames[i]});
  }
  (*cupti_)->NameStreams(std::move(named));
  recorders.insert(recorders.begin(), *std::move(cupti_));
  return recorders;
}

}  // namespace penstock
