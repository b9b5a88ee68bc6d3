// The work of some steps on a device, recorded as the backend queues it.
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

// What was queued at once.
struct DeviceLaunch {
  uint64_t step = 0, steps = 1;  // For steps [step, step + steps).
  bool computes = false;         // Else it sends a batch.
  const char* what = "";         // "step", "update", "batch".
};

// Recording begins with the first launch for step `first` and ends once step `last` - 1 is
// finished. A recorder that fails is told of in problem(), and never ends a training.
// Not thread-safe; calls may come from several threads.
class DeviceProfile {
 public:
  DeviceProfile(uint64_t first, uint64_t last) : first_(first), last_(last) {}

  // The first of `recorders` that starts records; none: nothing is recorded. `problem`: why there
  // is no better one; empty if there is none better.
  void Use(std::vector<std::unique_ptr<DeviceRecorder>> recorders, std::string problem);

  void Begin(const DeviceLaunch& launch, size_t stream);
  void End();
  // Whether step `step` is finished with which recording ends; then all that is queued has to be
  // waited for, and Stop() called.
  bool EndsWith(uint64_t step) const { return recording_ && step + 1 >= last_; }
  void Stop();

  bool has_recorder() const { return !recorders_.empty(); }
  const std::string& problem() const { return problem_; }
  // The launches' numbers are their places.
  const std::vector<DeviceLaunch>& launches() const { return launches_; }
  // None before Stop(), nor if nothing was recorded.
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

// From its construction to its destruction. `profile` may be null.
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
