// Traces a training with the fake CUPTI. $PENSTOCK_TRACE_COPY names a file to copy a trace to, for
// other readers.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/app/testing/traced_training.h"
#include "trainer/app/training_watch.h"
#include "trainer/backend/testing/boards.h"
#include "trainer/cuda/cuda_libraries.h"
#include "trainer/cuda/open_cupti.h"
#include "trainer/cuda/testing/cupti_device.h"

namespace penstock {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::SizeIs;
using Json = nlohmann::json;

class DeviceCuptiTraceTest : public testing::Test {
 protected:
  DeviceCuptiTraceTest() { fake_.Reset(); }

  std::unique_ptr<Device> Recorded(std::optional<uint64_t> seed = std::nullopt) {
    auto cupti =
        OpenCuptiFrom(CuptiSpec(), {PENSTOCK_FAKE_CUPTI}, {.patience = std::chrono::minutes(2)});
    return std::make_unique<CuptiDevice>(
        std::make_unique<EmulatedDevice>(EmulatedDeviceOptions{.seed = seed}), fake_,
        std::move(cupti));
  }

  FakeCupti& fake_ = FakeCupti::At(PENSTOCK_FAKE_CUPTI "/libcupti.so.13");
  TracedTraining training_;
};

TEST_F(DeviceCuptiTraceTest, EveryKernelIsOnTheTrackOfItsStream) {
  ASSERT_OK(training_.Run(Recorded()));
  const ReadTrace trace = training_.Read();
  EXPECT_THAT(trace.TrackNames(),
              IsSupersetOf({"training", "compute", "copies", "CUDA calls of thread 1"}));
  EXPECT_THAT(trace.StepsOf("compute"), ElementsAre(3, 4, 5));
  EXPECT_THAT(trace.StepsOf("copies"), ElementsAre(3, 4, 5));
  std::vector<std::string> names;
  for (const Json& span : trace.tracks.at("compute")) {
    if (span["args"]["step"] == 4) names.push_back(span["name"]);
  }
  EXPECT_THAT(names, IsSupersetOf({"attention", "layer norm backward", "fill"}));
  EXPECT_THAT(names, Contains("AdamW"));
  EXPECT_EQ(names.back(), "copy device to host");
  // Slots have graphs by now: a launch is one call, with one arrow to its first kernel.
  EXPECT_THAT(trace.arrow_starts, SizeIs(trace.arrow_ends.size()));
  EXPECT_GE(trace.arrow_ends.size(), 3u);
  EXPECT_FALSE(fake_.recording());
  EXPECT_FALSE(fake_.subscribed());
  if (const char* copy = std::getenv("PENSTOCK_TRACE_COPY"); copy != nullptr) {
    std::filesystem::copy_file(training_.file(), copy);
  }
}

TEST_F(DeviceCuptiTraceTest, TheTimesOfAStepAddUp) {
  ASSERT_OK(training_.Run(Recorded()));
  const std::optional<DeviceTimes>& times = training_.device_times();
  ASSERT_TRUE(times.has_value());
  EXPECT_TRUE(times->every_kernel);
  ASSERT_THAT(times->steps, SizeIs(3));
  const ReadTrace trace = training_.Read();
  const std::vector<Json>& spans = trace.tracks.at("compute");
  const double whole = spans.back()["ts"].get<double>() + spans.back()["dur"].get<double>() -
                       spans.front()["ts"].get<double>();
  const DeviceStep& sum = times->sum;
  const std::chrono::duration<double, std::micro> all =
      sum.busy + sum.inside + sum.before + sum.between;
  EXPECT_NEAR(all.count(), whole, 1);
  EXPECT_EQ(sum.works, spans.size());
  EXPECT_GT(sum.inside.count(), 0);
}

TEST_F(DeviceCuptiTraceTest, WithoutGraphsInAnotherOrderOfStreams) {
  ASSERT_OK(training_.Run(Recorded(/*seed=*/2), {.graphs = false}));
  const ReadTrace trace = training_.Read();
  EXPECT_THAT(trace.StepsOf("compute"), ElementsAre(3, 4, 5));
  for (const Json& span : trace.tracks.at("compute"))
    EXPECT_FALSE(span["args"].contains("in_graph"));
}

TEST_F(DeviceCuptiTraceTest, WhereItRefusesMarksTakeItsPlace) {
  fake_.Fail("cuptiActivityEnable", CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
  testing::internal::CaptureStderr();
  ASSERT_OK(training_.Run(Recorded()));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("penstock-train: --profile-steps: recording the GPU failed: CUPTI API "
                        "130001: "
                        "cuptiActivityEnable: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35): "));
  EXPECT_THAT(training_.Read().StepsOf("compute"), ElementsAre(3, 4, 5));
  EXPECT_EQ(training_.device_times()->source, "marks");
}

// Sets `waited` if the backend waits for all computing work while CUPTI records.
class WaitsWhileRecording final : public ForwardingDevice {
 public:
  WaitsWhileRecording(std::unique_ptr<Device> device, FakeCupti& fake, bool& waited)
      : ForwardingDevice(std::move(device)), fake_(fake), waited_(waited) {}
  absl::Status Synchronize(DeviceQueue queue) override {
    const absl::Status status = ForwardingDevice::Synchronize(queue);
    if (queue == DeviceQueue::kCompute) waited_ |= fake_.recording();
    return status;
  }

 private:
  FakeCupti& fake_;
  bool& waited_;
};

TEST_F(DeviceCuptiTraceTest, ATrainingThatIsBrokenOffWithinItsTraceLeavesNothingBehind) {
  bool waited = false;
  ASSERT_OK_AND_ASSIGN(
      const auto backend,
      DeviceBackend::Create({"small", 1, 16, 1, 24}, {.shards = 1, .global_rows = 1},
                            std::make_unique<WaitsWhileRecording>(Recorded(), fake_, waited)));
  ASSERT_OK(backend->SetState(TrainState(backend->table().arena_size())));
  const RandomBoards boards(1);
  {
    const ProfileOptions profile{.steps = "1:3"};
    TrainingWatch watch(profile, /*threads=*/1);
    watch.Watch(*backend);
    ASSERT_OK(backend->Step(boards.rows(), {}).status());
    EXPECT_TRUE(fake_.recording());
    waited = false;
  }
  EXPECT_TRUE(waited);
  EXPECT_FALSE(fake_.recording());
  EXPECT_FALSE(fake_.subscribed());
  EXPECT_OK(backend->Step(boards.rows(), {}).status());  // The destroyed watch is not called.
}

TEST_F(DeviceCuptiTraceTest, AnotherProfilerIsToldOfBeforeTheTraining) {
  fake_.Fail("cuptiSubscribe", CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  testing::internal::CaptureStderr();
  ASSERT_OK(training_.Run(Recorded()));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("another profiler"));
  EXPECT_EQ(training_.device_times()->source, "marks");
}

TEST_F(DeviceCuptiTraceTest, WithoutItsRecordsTheHostsTracksAreThere) {
  fake_.Fail("cuptiActivityFlushAll", CUPTI_ERROR_UNKNOWN);
  testing::internal::CaptureStderr();
  ASSERT_OK(training_.Run(Recorded()));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("cuptiActivityFlushAll"));
  EXPECT_THAT(training_.Read().TrackNames(),
              ElementsAre("launches", "steps under way", "training"));
  EXPECT_FALSE(training_.device_times().has_value());
}

}  // namespace
}  // namespace penstock
