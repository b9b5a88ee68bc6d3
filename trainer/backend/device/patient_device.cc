#include "trainer/backend/device/patient_device.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "trainer/comm/poll.h"

namespace penstock {
namespace {

// Pause between two polls. Most waits end while the next step is already queued, so a pause of this
// length costs nothing.
constexpr std::chrono::microseconds kPause{20};

std::string WorkOf(DeviceQueue queue) {
  return absl::StrCat("its work (stream \"", kDeviceQueueNames[static_cast<size_t>(queue)], "\")");
}

}  // namespace

PatientDevice::PatientDevice(std::unique_ptr<Device> device, const WaitOptions& options,
                             std::function<void(const absl::Status&)> on_stuck)
    : ForwardingDevice(std::move(device)),
      options_(options),
      on_stuck_(std::move(on_stuck)),
      timeout_(options.timeout) {}

PatientDevice::~PatientDevice() {
  if (stuck()) Forsake();
}

absl::Status PatientDevice::Record(DeviceEvent event, DeviceQueue queue) {
  queues_[event] = queue;
  return device().Record(event, queue);
}

absl::Status PatientDevice::Synchronize(DeviceQueue queue) {
  return WaitFor(queue, [&] { return device().Done(queue); });
}

absl::Status PatientDevice::Await(DeviceEvent event) {
  return WaitFor(queues_[event], [&] { return device().Done(event); });
}

void PatientDevice::LimitWaits(std::optional<absl::Duration> limit) {
  timeout_ = std::min(options_.timeout, limit.value_or(options_.timeout));
}

absl::Status PatientDevice::WaitFor(DeviceQueue queue,
                                    absl::FunctionRef<absl::StatusOr<bool>()> done) {
  PENSTOCK_RETURN_IF_ERROR(stuck_);
  const Patience late(options_.late_after);
  bool told = false;
  auto look = [&]() -> absl::StatusOr<bool> {
    PENSTOCK_ASSIGN_OR_RETURN(const bool is_done, done());
    if (!is_done) TellIfLate(queue, late, told);
    return is_done;
  };
  PENSTOCK_ASSIGN_OR_RETURN(const bool is_done, PollUntil(Patience(timeout_), look, kPause));
  if (is_done) return absl::OkStatus();
  stuck_ = absl::UnavailableError(absl::StrCat("the GPU hangs: it has not finished ", WorkOf(queue),
                                               " within ", absl::FormatDuration(timeout_),
                                               "; look for a line with Xid in dmesg"));
  on_stuck_(stuck_);
  return stuck_;
}

void PatientDevice::TellIfLate(DeviceQueue queue, const Patience& late, bool& told) const {
  if (told || !late.ended() || !options_.report) return;
  told = true;
  options_.report(absl::StrCat("the GPU has not finished ", WorkOf(queue), " for ",
                               absl::FormatDuration(options_.late_after), " or longer"));
}

void PatientDevice::FreeHost(void* memory) {
  if (!stuck()) device().FreeHost(memory);
}

void PatientDevice::EndGraphs() {
  if (!stuck()) device().EndGraphs();
}

}  // namespace penstock
