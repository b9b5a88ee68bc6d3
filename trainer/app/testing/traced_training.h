// A short training of a small model, some of whose steps are traced.
#ifndef PENSTOCK_TRAINER_APP_TESTING_TRACED_TRAINING_H_
#define PENSTOCK_TRAINER_APP_TESTING_TRACED_TRAINING_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"
#include "trainer/backend/device/device_backend.h"
#include "trainer/loop/train_loop.h"
#include "trainer/profile/device_gaps.h"

namespace penstock {

// A file of the Trace Event Format.
struct ReadTrace {
  std::map<std::string, std::vector<nlohmann::json>> tracks;  // Their spans, in order.
  std::vector<nlohmann::json> arrow_starts, arrow_ends;

  std::vector<std::string> TrackNames() const;
  // The steps of a stream's spans, each once.
  std::vector<uint64_t> StepsOf(const std::string& track) const;
};

// In a folder of its own, which goes with it.
class TracedTraining {
 public:
  // Traces steps 3 to 5 of `steps`, or those of `traced`, as --profile-steps has it. REQUIRES:
  // once.
  absl::Status Run(std::unique_ptr<Device> device, DeviceBackendOptions options = {},
                   uint64_t steps = 7, const std::string& traced = "3:6");

  TracedTraining();
  ~TracedTraining();
  const std::string& file() const { return file_; }
  ReadTrace Read() const;
  const std::optional<DeviceTimes>& device_times() const { return device_times_; }
  const TrainSummary& summary() const { return summary_; }
  const BackendDescription& backend() const { return backend_; }
  // At the end.
  const std::vector<float>& parameters() const { return parameters_; }

 private:
  const std::string folder_, file_;
  std::optional<DeviceTimes> device_times_;
  TrainSummary summary_;
  BackendDescription backend_;
  std::vector<float> parameters_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_TESTING_TRACED_TRAINING_H_
