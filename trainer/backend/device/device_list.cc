#include "trainer/backend/device/device_list.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace penstock {
namespace {

absl::Status RunOp(const ListedWork& work, Device& device) {
  const absl::Status status = work.foreign ? device.RunForeign(work.op, work.queue, work.foreign)
                                           : device.Run(work.op, work.queue);
  return Annotate(status, absl::StrCat(DeviceOpName(work.op.kind), " of ", work.op.rows, " rows, ",
                                       work.op.in, " columns"));
}

}  // namespace

void DeviceList::Add(std::vector<DeviceOp> ops, DeviceQueue queue) {
  for (DeviceOp& op : ops) work_.push_back({.queue = queue, .op = std::move(op)});
}

void DeviceList::AddForeign(DeviceOp op, DeviceQueue queue, std::function<absl::Status()> foreign) {
  work_.push_back({.queue = queue, .op = std::move(op), .foreign = std::move(foreign)});
}

void DeviceList::AddOrder(DeviceQueue before, DeviceQueue behind, DeviceEvent event) {
  work_.push_back({.kind = ListedWork::Kind::kRecord, .queue = before, .event = event});
  work_.push_back({.kind = ListedWork::Kind::kWait, .queue = behind, .event = event});
}

absl::Status DeviceList::RunEach(Device& device) const {
  for (const ListedWork& work : work_) {
    switch (work.kind) {
      case ListedWork::Kind::kRun:
        PENSTOCK_RETURN_IF_ERROR(RunOp(work, device));
        break;
      case ListedWork::Kind::kRecord:
        PENSTOCK_RETURN_IF_ERROR(device.Record(work.event, work.queue));
        break;
      case ListedWork::Kind::kWait:
        PENSTOCK_RETURN_IF_ERROR(device.Wait(work.event, work.queue));
        break;
    }
  }
  return absl::OkStatus();
}

absl::Status DeviceList::Run(Device& device, bool graphs) {
  if (work_.empty()) return absl::OkStatus();
  if (!graphs || !has_run_) {
    has_run_ = true;
    return RunEach(device);
  }
  if (!graph_.has_value()) {
    PENSTOCK_RETURN_IF_ERROR(device.BeginCapture());
    const absl::Status captured = RunEach(device);
    absl::StatusOr<DeviceGraph> graph = device.EndCapture();
    PENSTOCK_RETURN_IF_ERROR(captured);
    PENSTOCK_RETURN_IF_ERROR(graph.status());
    graph_ = *graph;
  }
  return device.Launch(*graph_);
}

}  // namespace penstock
