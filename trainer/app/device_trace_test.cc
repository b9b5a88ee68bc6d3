// A training on the emulated device, some of whose steps are traced.
#include <memory>
#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/app/testing/traced_training.h"
#include "trainer/backend/cuda/testing/emulated_device.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::IsSupersetOf;
using testing::SizeIs;

std::unique_ptr<Device> Emulated(std::optional<uint64_t> seed = std::nullopt) {
  return std::make_unique<EmulatedDevice>(EmulatedDeviceOptions{.seed = seed});
}

TEST(DeviceTraceTest, MarksMakeATrackOfEachStream) {
  TracedTraining training;
  ASSERT_OK(training.Run(Emulated()));
  const ReadTrace trace = training.Read();
  EXPECT_THAT(trace.TrackNames(), IsSupersetOf({"training", "compute", "copies"}));
  EXPECT_THAT(trace.StepsOf("compute"), ElementsAre(3, 4, 5));
  EXPECT_THAT(trace.StepsOf("copies"), ElementsAre(3, 4, 5));
  const std::optional<DeviceTimes>& times = training.device_times();
  ASSERT_TRUE(times.has_value());
  EXPECT_EQ(times->source, "marks");
  EXPECT_THAT(times->steps, SizeIs(3));
  EXPECT_GT(times->sum.busy.count(), 0);
}

TEST(DeviceTraceTest, InAnotherOrderOfStreams) {
  TracedTraining training;
  ASSERT_OK(training.Run(Emulated(/*seed=*/1)));
  EXPECT_THAT(training.Read().StepsOf("compute"), ElementsAre(3, 4, 5));
}

TEST(DeviceTraceTest, TracingChangesNoBit) {
  TracedTraining traced, other;
  ASSERT_OK(traced.Run(Emulated()));
  ASSERT_OK(other.Run(Emulated(), {}, /*steps=*/7, /*traced=*/""));
  EXPECT_EQ(traced.parameters(), other.parameters());
  EXPECT_FALSE(other.device_times().has_value());
}

TEST(DeviceTraceTest, ALaunchOfSeveralStepsIsOneSpan) {
  TracedTraining training;
  ASSERT_OK(training.Run(Emulated(), {.steps_per_launch = 3}));
  const ReadTrace trace = training.Read();
  EXPECT_THAT(trace.StepsOf("compute"), ElementsAre(1, 4));
  EXPECT_EQ(trace.tracks.at("compute")[0]["name"], "steps");
  EXPECT_EQ(training.device_times()->sum.steps, 6u);
}

TEST(DeviceTraceTest, ATrainingThatEndsBeforeItsTraceWritesWhatThereIs) {
  TracedTraining training;
  ASSERT_OK(training.Run(Emulated(), {}, /*steps=*/4));
  EXPECT_THAT(training.Read().StepsOf("compute"), ElementsAre(3, 4));
}

}  // namespace
}  // namespace penstock
