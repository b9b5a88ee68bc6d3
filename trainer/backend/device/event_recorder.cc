#include "trainer/backend/device/event_recorder.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/status.h"
#include "trainer/backend/device/device.h"

namespace penstock {
namespace {

uint32_t IndexOf(std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  const auto index = static_cast<uint32_t>(found - names.begin());
  if (found == names.end()) names.push_back(name);
  return index;
}

}  // namespace

EventRecorder::EventRecorder(std::unique_ptr<StreamMarks> marks, std::string source)
    : marks_(std::move(marks)), source_(std::move(source)) {}

absl::Status EventRecorder::Begin(size_t launch, size_t stream, const char* what) {
  has_room_ = launches_.size() < kMaxLaunches;
  if (!has_room_) {
    ++dropped_;
    return absl::OkStatus();
  }
  PENSTOCK_ASSIGN_OR_RETURN(const size_t begin, marks_->Mark(stream));
  launches_.push_back({launch, stream, what, begin, begin});
  return absl::OkStatus();
}

absl::Status EventRecorder::End() {
  if (!has_room_) return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(launches_.back().end, marks_->Mark(launches_.back().stream));
  return absl::OkStatus();
}

absl::StatusOr<DeviceRecords> EventRecorder::Stop() {
  PENSTOCK_RETURN_IF_ERROR(marks_->Finish());
  DeviceRecords records{.source = source_,
                        .streams = {std::begin(kDeviceQueueNames), std::end(kDeviceQueueNames)},
                        .dropped = dropped_};
  for (const Launch& launch : launches_) {
    DeviceWork work{.name = IndexOf(records.names, launch.what),
                    .stream = static_cast<uint32_t>(launch.stream),
                    .launch = launch.number};
    PENSTOCK_ASSIGN_OR_RETURN(work.begin, marks_->TimeOf(launch.begin));
    PENSTOCK_ASSIGN_OR_RETURN(work.end, marks_->TimeOf(launch.end));
    records.work.push_back(work);
  }
  return records;
}

}  // namespace penstock
