#include "trainer/backend/cuda/device_list.h"

#include "absl/strings/str_cat.h"
#include "records/base/status.h"

namespace penstock {

absl::Status DeviceList::RunEach(Device& device) const {
  for (const DeviceOp& op : ops_) {
    PENSTOCK_RETURN_IF_ERROR(Annotate(
        device.Run(op, DeviceQueue::kCompute),
        absl::StrCat(DeviceOpName(op.kind), " of ", op.rows, " rows, ", op.in, " columns")));
  }
  return absl::OkStatus();
}

absl::Status DeviceList::Run(Device& device, bool graphs) {
  if (ops_.empty()) return absl::OkStatus();
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
