// Records the work of some steps on a device, as the backend queues it.
#ifndef PENSTOCK_TRAINER_PROFILE_DEVICE_PROFILE_H_
#define PENSTOCK_TRAINER_PROFILE_DEVICE_PROFILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "trainer/profile/device_recorder.h"

namespace penstock {

// Work that was queued at once.
struct DeviceLaunch {
  uint64_t step = 0, steps = 1;  // The launch is for steps [step, step + steps).
  bool computes = false;         // If false, the launch sends a batch.
  const char* what = "";         // "step", "update", "batch".
};

// Recording begins with the first launch for step `first` and ends once step `last` - 1 is
// finished. A failing recorder is reported in problem(), and never ends a training. Not
// thread-safe, but successive calls may come from different threads.
class DeviceProfile {
 public:
  DeviceProfile(uint64_t first, uint64_t last) : first_(first), last_(last) {}

  // Uses the first of `recorders` that starts; if none does, nothing is recorded. `problem` says
  // why no better recorder is available; it is empty if this is the best.
  void Use(std::vector<std::unique_ptr<DeviceRecorder>> recorders, std::string problem);

  void Begin(const DeviceLaunch& launch, size_t stream);
  void End();
  // Whether recording ends with step `step`. If so, wait for all queued work, and call Stop().
  bool EndsWith(uint64_t step) const { return recording_ && step + 1 >= last_; }
  void Stop();

  bool has_recorder() const { return !recorders_.empty(); }
  const std::string& problem() const { return problem_; }
  // A launch's number is its index.
  const std::vector<DeviceLaunch>& launches() const { return launches_; }
  // Unset before Stop(), or if nothing was recorded.
  const std::optional<DeviceRecords>& records() const { return records_; }

 private:
  bool Check(const absl::Status& status, absl::string_view what);
  bool Start();

  const uint64_t first_, last_;
  std::vector<std::unique_ptr<DeviceRecorder>> recorders_;  // The first one records.
  std::string problem_;
  bool recording_ = false, in_launch_ = false, ended_ = false;
  std::vector<DeviceLaunch> launches_;
  std::optional<DeviceRecords> records_;
};

// A launch that lasts as long as this object. `profile` may be null.
class DeviceLaunchScope {
 public:
  DeviceLaunchScope(DeviceProfile* profile, const DeviceLaunch& launch, size_t stream)
      : profile_(profile) {
    if (profile_ != nullptr) profile_->Begin(launch, stream);
  }
  ~DeviceLaunchScope() {
    if (profile_ != nullptr) profile_->End();
  }
  DeviceLaunchScope(const DeviceLaunchScope&) = delete;
  DeviceLaunchScope& operator=(const DeviceLaunchScope&) = delete;

 private:
  DeviceProfile* profile_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_PROFILE_DEVICE_PROFILE_H_
