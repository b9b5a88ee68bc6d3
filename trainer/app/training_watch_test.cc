#include "trainer/app/training_watch.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"
#include "trainer/input/testing/memory_input.h"

namespace penstock {
namespace {

using testing::HasSubstr;

TEST(TrainingWatchTest, ComparesBothHalvesWithoutTheirFirstSteps) {
  const ProfileOptions options{.synthetic_data = true};
  TrainingWatch watch(options, 1);
  MemoryInput inner(64, 16);
  const std::unique_ptr<Input> input = watch.Diagnose(inner, /*total_steps=*/6);
  // Three steps with input, the first of which is slow; then three without it.
  for (const int ms : {900, 200, 200, 800, 100, 100}) {
    StepReport report{.rows = 100};
    report.times[Phase::kCompute] = std::chrono::milliseconds(ms);
    watch.Count(report);
  }
  EXPECT_THAT(watch.Comparison(), HasSubstr("normal 500/s"));
  EXPECT_THAT(watch.Comparison(), HasSubstr("with synthetic data 1,000/s, 2.00 times as fast"));
}

// Returns the lines of rank 0 about a trace of steps 3 and 4, in a run from step `before` + 1 to
// step `last`.
std::string TraceLinesOf(uint64_t before, uint64_t last) {
  const TempFolder folder;
  const ProfileOptions options{.steps = "3:5", .file = folder.File("trace.json")};
  TrainingWatch watch(options, 1);
  watch.recorder().Start(before + 1);
  for (uint64_t step = before + 1; step <= last; ++step) {
    watch.recorder().Enter(Phase::kCompute);
    watch.recorder().EndStep(step);
  }
  watch.recorder().Stop();
  EXPECT_EQ(watch.trace_lines(), "");
  EXPECT_OK(watch.WriteTrace());
  EXPECT_THAT(watch.trace_lines(), HasSubstr(options.file));
  return watch.trace_lines();
}

TEST(TrainingWatchTest, ATraceOfNoStepIsNotToBeOpened) {
  for (const auto& [before, last] : {std::pair{0, 2}, {4, 9}, {0, 0}}) {
    const std::string lines = TraceLinesOf(before, last);
    EXPECT_THAT(lines, HasSubstr("no trace: no step of 3:5 was run"));
    EXPECT_THAT(lines, testing::Not(HasSubstr("perfetto")));
  }
  for (const auto& [before, last] : {std::pair{0, 3}, {3, 9}, {0, 9}}) {
    EXPECT_THAT(TraceLinesOf(before, last), HasSubstr("ui.perfetto.dev opens it"));
  }
}

// With the fewest steps that Complete() accepts, both halves have a step that counts; with one
// fewer, they do not.
TEST(TrainingWatchTest, TheLeastStepsOfADiagnosisCompare) {
  for (const uint64_t steps : {kLeastDiagnosedSteps - 1, kLeastDiagnosedSteps}) {
    const ProfileOptions options{.no_allreduce = true};
    TrainingWatch watch(options, 1);
    MemoryInput inner(64, 16);
    (void)watch.Diagnose(inner, steps);
    for (uint64_t step = 0; step < steps; ++step) {
      StepReport report{.rows = 100};
      report.times[Phase::kCompute] = std::chrono::milliseconds(100);
      watch.Count(report);
    }
    EXPECT_EQ(watch.Comparison().find("nothing to compare") == std::string::npos,
              steps == kLeastDiagnosedSteps);
  }
}

}  // namespace
}  // namespace penstock
