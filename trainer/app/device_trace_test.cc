// Trains on the emulated device and traces some of the steps.
#include <memory>
#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/app/report.h"
#include "trainer/app/testing/traced_training.h"
#include "trainer/app/training_watch.h"
#include "trainer/backend/device/testing/emulated_device.h"
#include "trainer/backend/testing/boards.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
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

TEST(DeviceTraceTest, TheThreadOfLaunchesHasATrack) {
  TracedTraining training;
  ASSERT_OK(training.Run(Emulated()));
  const ReadTrace trace = training.Read();
  ASSERT_THAT(trace.TrackNames(), Contains("launches"));
  for (const nlohmann::json& span : trace.tracks.at("launches")) {
    EXPECT_EQ(span["name"], "launch");
  }
  // A step is launched while the previous one is being computed.
  EXPECT_THAT(trace.StepsOf("launches"), AnyOf(ElementsAre(3, 4, 5), ElementsAre(4, 5, 6)));
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

// The times are those of a small step on a GPU, not those of the emulation.
TEST(DeviceVerdictTest, ATrainingOnADeviceIsJudgedAsAGpus) {
  TracedTraining training;
  ASSERT_OK(training.Run(Emulated(), {}, /*steps=*/7, /*traced=*/""));
  TrainSummary summary = training.summary();
  ASSERT_EQ(summary.step - summary.first_step, 7u);
  summary.times = {};
  summary.times[Phase::kCompute] = std::chrono::microseconds(7 * 100);
  EXPECT_THAT(JudgeTraining(summary, training.backend(), {}).text,
              AllOf(HasSubstr("compute-bound"), HasSubstr("another GPU")));
  summary.times[Phase::kLaunch] = std::chrono::microseconds(7 * 50);
  const Verdict verdict = JudgeTraining(summary, training.backend(), {});
  EXPECT_EQ(verdict.limit, Limit::kTooSmallForGpu);
  EXPECT_THAT(SummaryJson(summary, RowKind::kPositions, {}, verdict),
              HasSubstr("too-small-for-a-gpu"));
}

TEST(DeviceTraceTest, ATrainingThatEndsBeforeItsTraceWritesWhatThereIs) {
  TracedTraining training;
  ASSERT_OK(training.Run(Emulated(), {}, /*steps=*/4));
  EXPECT_THAT(training.Read().StepsOf("compute"), ElementsAre(3, 4));
}

TEST(DeviceTraceTest, ABackendOutlivesItsTrace) {
  ASSERT_OK_AND_ASSIGN(
      const auto backend,
      DeviceBackend::Create({"small", 1, 16, 1, 24}, {.shards = 1, .global_rows = 1}, Emulated()));
  ASSERT_OK(backend->SetState(TrainState(backend->table().arena_size())));
  const RandomBoards boards(1);
  const ProfileOptions profile{.steps = "1:3"};
  auto watch = std::make_unique<TrainingWatch>(profile, /*threads=*/1);
  watch->Watch(*backend);
  ASSERT_OK(backend->Step(boards.rows(), {}).status());
  watch.reset();
  EXPECT_OK(backend->Step(boards.rows(), {}).status());
}

}  // namespace
}  // namespace penstock
