// A training on the emulated device, some of whose steps are traced.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/status_matchers.h"
#include "trainer/app/training_watch.h"
#include "trainer/backend/cuda/cuda_backend.h"
#include "trainer/backend/cuda/testing/emulated_device.h"
#include "trainer/backend/testing/boards.h"
#include "trainer/loop/train_loop.h"
#include "trainer/model/initialize.h"
#include "trainer/testing/memory_input.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::SizeIs;
using Json = nlohmann::json;

const BoardModelConfig kSmall{"small", 1, 16, 1, 24};
constexpr size_t kRows = 2;

struct Trace {
  std::map<std::string, std::vector<Json>> tracks;  // Their spans, in order.

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& [name, spans] : tracks) names.push_back(name);
    return names;
  }
  std::vector<uint64_t> StepsOf(const std::string& track) const {
    std::vector<uint64_t> steps;
    for (const Json& span : tracks.at(track)) steps.push_back(span.at("args").at("step"));
    return steps;
  }
};

Trace ReadTrace(const std::string& path) {
  std::ifstream file(path);
  const Json json = Json::parse(file);
  std::map<int, std::string> names;
  Trace trace;
  for (const Json& event : json.at("traceEvents")) {
    if (event["name"] == "thread_name") names[event["tid"]] = event["args"]["name"];
    if (event["ph"] == "X") trace.tracks[names.at(event["tid"])].push_back(event);
  }
  return trace;
}

class DeviceTraceTest : public testing::Test {
 protected:
  DeviceTraceTest() : folder_(absl::StrCat(testing::TempDir(), "/device_trace.", getpid())) {
    std::filesystem::create_directories(folder_);
    options_ = {.steps = "3:6", .file = absl::StrCat(folder_, "/trace.json")};
  }
  ~DeviceTraceTest() override { std::filesystem::remove_all(folder_); }

  // Trains `steps` steps, and writes the trace.
  void Train(std::unique_ptr<Device> device, CudaBackendOptions options, uint64_t steps = 8) {
    options.shards = 2;
    options.global_rows = kRows;
    ASSERT_OK_AND_ASSIGN(auto backend, CudaBackend::Create(kSmall, options, std::move(device)));
    TrainState state(backend->table().arena_size());
    InitializeParameters(backend->table(), /*seed=*/1, state.parameters);
    ASSERT_OK(backend->SetState(std::move(state)));
    watch_.emplace(options_, backend->Describe().threads);
    watch_->Watch(*backend, /*device=*/true);
    MemoryInput input(/*records=*/16 * kRows, /*batch_size=*/kRows);
    BoardReader reader;
    TrainLoop loop(*backend, reader, input, {.model = kSmall},
                   {.total_steps = steps, .recorder = &watch_->recorder()});
    ASSERT_OK(loop.Run().status());
    ASSERT_OK(watch_->WriteTrace());
    watch_device_times_ = watch_->device_times();
    watch_.reset();
  }

  std::string folder_;
  ProfileOptions options_;
  std::optional<TrainingWatch> watch_;
  std::optional<DeviceTimes> watch_device_times_;
};

std::unique_ptr<Device> Emulated(std::optional<uint64_t> seed = std::nullopt) {
  return std::make_unique<EmulatedDevice>(EmulatedDeviceOptions{.seed = seed});
}

TEST_F(DeviceTraceTest, MarksMakeATrackOfEachStream) {
  Train(Emulated(), {});
  const Trace trace = ReadTrace(options_.file);
  EXPECT_THAT(trace.Names(), IsSupersetOf({"training", "compute", "copies"}));
  EXPECT_THAT(trace.StepsOf("compute"), ElementsAre(3, 4, 5));
  EXPECT_THAT(trace.StepsOf("copies"), ElementsAre(3, 4, 5));
  ASSERT_TRUE(watch_device_times_.has_value());
  EXPECT_EQ(watch_device_times_->source, "marks");
  EXPECT_THAT(watch_device_times_->steps, SizeIs(3));
  EXPECT_GT(watch_device_times_->sum.busy.count(), 0);
}

TEST_F(DeviceTraceTest, InAnyOrderOfStreams) {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    Train(Emulated(seed), {});
    EXPECT_THAT(ReadTrace(options_.file).StepsOf("compute"), ElementsAre(3, 4, 5));
  }
}

TEST_F(DeviceTraceTest, ALaunchOfSeveralStepsIsOneSpan) {
  Train(Emulated(), {.steps_per_launch = 3});
  const Trace trace = ReadTrace(options_.file);
  EXPECT_THAT(trace.StepsOf("compute"), ElementsAre(1, 4));
  EXPECT_EQ(trace.tracks.at("compute")[0]["name"], "steps");
  EXPECT_EQ(watch_device_times_->sum.steps, 6u);
}

TEST_F(DeviceTraceTest, ATrainingThatEndsBeforeItsTraceWritesWhatThereIs) {
  Train(Emulated(), {}, /*steps=*/4);
  EXPECT_THAT(ReadTrace(options_.file).StepsOf("compute"), ElementsAre(3, 4));
}

}  // namespace
}  // namespace penstock
