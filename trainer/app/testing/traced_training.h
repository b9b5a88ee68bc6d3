// A short training of a small model that traces some of its steps.
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

// The content of a file in the Trace Event Format.
struct ReadTrace {
  std::map<std::string, std::vector<nlohmann::json>> tracks;  // Spans of each track, in order.
  std::vector<nlohmann::json> arrow_starts, arrow_ends;

  std::vector<std::string> TrackNames() const;
  // The steps that have spans on a stream, each once.
  std::vector<uint64_t> StepsOf(const std::string& track) const;
};

// Works in a temporary folder, which it removes at the end.
class TracedTraining {
 public:
  // Traces steps 3 to 5 of `steps`, or the steps `traced` in the form of --profile-steps. REQUIRES:
  // called once.
  absl::Status Run(std::unique_ptr<Device> device, DeviceBackendOptions options = {},
                   uint64_t steps = 7, const std::string& traced = "3:6");

  TracedTraining();
  ~TracedTraining();
  const std::string& file() const { return file_; }
  ReadTrace Read() const;
  const std::optional<DeviceTimes>& device_times() const { return device_times_; }
  const TrainSummary& summary() const { return summary_; }
  const BackendDescription& backend() const { return backend_; }
  // The parameters at the end of the training.
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
