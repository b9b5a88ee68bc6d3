#include "trainer/profile/device_profile.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock {

void DeviceProfile::Use(std::vector<std::unique_ptr<DeviceRecorder>> recorders,
                        std::string problem) {
  recorders_ = std::move(recorders);
  problem_ = std::move(problem);
}

bool DeviceProfile::Check(const absl::Status& status, absl::string_view what) {
  if (status.ok()) return true;
  if (problem_.empty()) problem_ = absl::StrCat(what, " failed: ", status.message());
  ended_ = true;
  return false;
}

bool DeviceProfile::Start() {
  while (!recorders_.empty() && !recording_) {
    recording_ = Check(recorders_.front()->Start(), "recording the GPU");
    if (!recording_) recorders_.erase(recorders_.begin());
  }
  ended_ = !recording_;
  return recording_;
}

void DeviceProfile::Begin(const DeviceLaunch& launch, size_t stream) {
  if (ended_ || recorders_.empty()) return;
  if (launch.step + launch.steps <= first_ || launch.step >= last_) return;
  if (!recording_ && !Start()) return;
  in_launch_ =
      Check(recorders_.front()->Begin(launches_.size(), stream, launch.what), "recording a launch");
  launches_.push_back(launch);
}

void DeviceProfile::End() {
  if (!std::exchange(in_launch_, false)) return;
  (void)Check(recorders_.front()->End(), "recording a launch");
}

void DeviceProfile::Stop() {
  if (!std::exchange(recording_, false)) return;
  absl::StatusOr<DeviceRecords> records = recorders_.front()->Stop();
  if (Check(records.status(), "reading the GPU's records")) records_ = *std::move(records);
  ended_ = true;
}

}  // namespace penstock
