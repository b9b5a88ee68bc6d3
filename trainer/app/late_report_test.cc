#include "trainer/app/late_report.h"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

StepRecorder::Clock::time_point At(int ms) {
  return StepRecorder::Clock::time_point(std::chrono::seconds(9) + std::chrono::milliseconds(ms));
}

TEST(RecentStepsTest, TellsOfTheLastStepsAndOfWhatHangs) {
  StepRecorder recorder;
  EXPECT_EQ(DescribeRecentSteps(recorder, At(0)), "");
  recorder.Start(1, At(0));
  recorder.Enter(Phase::kInput, At(0));
  EXPECT_EQ(DescribeRecentSteps(recorder, At(2000)),
            "no step has ended yet; so far 2 s (input 2), now in input for 2 s");
  for (int step = 1; step <= 5; ++step) {
    recorder.Enter(Phase::kCompute, At(1000 * step));
    recorder.Enter(Phase::kCollective, At(1000 * step + 900));
    recorder.EndStep(static_cast<uint64_t>(step), At(1000 * step + 1000));
  }
  recorder.Enter(Phase::kCollective, At(6000));
  const std::string text = DescribeRecentSteps(recorder, At(67250));
  EXPECT_THAT(text, StartsWith("step 2 took 1 s (compute 0.9, collective 0.1), step 3 took"));
  EXPECT_THAT(text, EndsWith("step 5 took 1 s (compute 0.9, collective 0.1); since then "
                             "61.2 s (collective 61.2), now in collective for 61.2 s"));
}

// A watchdog asks while the training continues.
TEST(RecentStepsTest, AnotherThreadMayAsk) {
  StepRecorder recorder;
  recorder.Start(1);
  std::atomic<bool> done{false};
  std::jthread asks([&] {
    while (!done) EXPECT_THAT(DescribeRecentSteps(recorder), HasSubstr("now in"));
  });
  for (uint64_t step = 1; step <= 2000; ++step) {
    recorder.Enter(Phase::kCompute);
    recorder.EndStep(step);
  }
  done = true;
}

TEST(LateReportTest, AddsWhatThisRankDidOnceThereAreSteps) {
  LateReport late("rank 1: ");
  const std::string line = "penstock-train: rank 1: rank 0 is late\n";
  EXPECT_EQ(late.Lines("rank 0 is late"), line);
  StepRecorder recorder;
  late.Watch(&recorder);
  EXPECT_EQ(late.Lines("rank 0 is late"), line);
  recorder.Start(1);
  recorder.EndStep(1);
  EXPECT_THAT(late.Lines("rank 0 is late"),
              StartsWith(line + "penstock-train: rank 1: here step 1 took "));
  late.Watch(nullptr);
  EXPECT_EQ(late.Lines("rank 0 is late"), line);
}

}  // namespace
}  // namespace penstock
