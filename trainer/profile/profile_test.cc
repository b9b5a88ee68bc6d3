#include <cmath>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "trainer/profile/comparison.h"
#include "trainer/profile/memory_table.h"
#include "trainer/profile/step_recorder.h"
#include "trainer/profile/tracer.h"
#include "trainer/profile/verdict.h"

namespace penstock {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

StepRecorder::Clock::time_point At(int ms) {
  return StepRecorder::Clock::time_point(std::chrono::seconds(9) + milliseconds(ms));
}

TEST(StepRecorderTest, ChargesTimeToThePhaseThatWasEntered) {
  StepRecorder recorder;
  recorder.Start(0, At(0));
  recorder.Enter(Phase::kInput, At(1));
  EXPECT_EQ(recorder.Enter(Phase::kCompute, At(4)), Phase::kInput);
  recorder.Enter(Phase::kOutput, At(10));
  recorder.EndStep(1, At(12));
  recorder.Enter(Phase::kInput, At(12));
  recorder.EndStep(2, At(20));
  recorder.Stop(At(25));
  const std::vector<StepRecorder::Step> steps = recorder.Newest();
  ASSERT_THAT(steps, SizeIs(2));
  EXPECT_EQ(steps[0].times[Phase::kOther], milliseconds(1));
  EXPECT_EQ(steps[0].times[Phase::kInput], milliseconds(3));
  EXPECT_EQ(steps[0].times[Phase::kCompute], milliseconds(6));
  EXPECT_EQ(steps[0].times[Phase::kOutput], milliseconds(2));
  EXPECT_EQ(steps[1].times.total(), milliseconds(8));
  EXPECT_EQ(recorder.total()[Phase::kInput], milliseconds(11));
  EXPECT_EQ(recorder.total().total(), milliseconds(25));
}

TEST(StepRecorderTest, AScopeGoesBackToThePhaseBefore) {
  StepRecorder recorder;
  recorder.Start(0);
  recorder.Enter(Phase::kCompute);
  { const PhaseScope scope(&recorder, Phase::kCollective); }
  EXPECT_EQ(recorder.Enter(Phase::kOther), Phase::kCompute);
  const PhaseScope nothing(nullptr, Phase::kCollective);
}

TEST(StepRecorderTest, WhatWasChargedCanBeMoved) {
  StepRecorder recorder;
  recorder.Start(0, At(0));
  recorder.Enter(Phase::kLaunch, At(1));
  recorder.Enter(Phase::kOther, At(3));
  const PhaseTimes before = recorder.current();
  recorder.Enter(Phase::kLaunch, At(4));
  recorder.Enter(Phase::kInput, At(9));
  recorder.Enter(Phase::kOther, At(20));
  recorder.MoveSince(before, Phase::kCompute);
  for (const PhaseTimes& times : {recorder.current(), recorder.total()}) {
    EXPECT_EQ(times[Phase::kOther], milliseconds(1));
    EXPECT_EQ(times[Phase::kLaunch], milliseconds(2));
    EXPECT_EQ(times[Phase::kInput], milliseconds(0));
    EXPECT_EQ(times[Phase::kCompute], milliseconds(17));
  }
}

TEST(StepRecorderTest, KeepsTheNewestSteps) {
  StepRecorder recorder;
  recorder.Start(0, At(0));
  const uint64_t last = StepRecorder::kRing + 3;
  for (uint64_t step = 1; step <= last; ++step) recorder.EndStep(step, At(int(step)));
  const std::vector<StepRecorder::Step> steps = recorder.Newest();
  ASSERT_THAT(steps, SizeIs(StepRecorder::kRing));
  EXPECT_EQ(steps.front().step, 4u);
  EXPECT_EQ(steps.back().step, last);
  EXPECT_EQ(recorder.steps(), last);
}

TEST(TracerTest, HoldsTheChosenStepsAlone) {
  Tracer tracer;
  tracer.NameTrack(0, "training");
  tracer.NameTrack(1, "worker 0");
  StepRecorder recorder(&tracer);
  recorder.TraceSteps(2, 4);
  recorder.Start(1, At(0));
  for (uint64_t step = 1; step <= 5; ++step) {
    recorder.Enter(Phase::kCompute, At(10 * int(step)));
    std::thread([&] { TraceScope(&tracer, 1, "shard 7"); }).join();
    recorder.EndStep(step, At(10 * int(step) + 5));
  }
  recorder.Stop(At(99));
  const auto json = nlohmann::json::parse(tracer.ToJson("penstock-train"));
  std::vector<std::string> steps;
  int shards = 0, names = 0;
  for (const auto& event : json["traceEvents"]) {
    const std::string name = event["name"];
    if (event["ph"] == "M") {
      ++names;
      continue;
    }
    if (name == "shard 7") {
      EXPECT_EQ(event["tid"], 1);
      ++shards;
    }
    if (name.rfind("step ", 0) == 0) {
      steps.push_back(name);
      EXPECT_EQ(event["dur"], 10000.0);  // In microseconds.
    }
  }
  EXPECT_THAT(steps, testing::ElementsAre("step 2", "step 3"));
  EXPECT_EQ(shards, 2);
  EXPECT_EQ(names, 3);
}

// "TRACK: SPAN", in the order of their begins.
std::vector<std::string> SpansByTrack(const Tracer& tracer) {
  std::vector<std::string> found;
  std::map<int, std::string> tracks;
  const auto json = nlohmann::json::parse(tracer.ToJson("p"));
  for (const auto& event : json["traceEvents"]) {
    if (event["name"] == "thread_name") tracks[event["tid"]] = event["args"]["name"];
    if (event["ph"] != "X") continue;
    found.push_back(absl::StrCat(tracks.at(event["tid"]), ": ", std::string(event["name"])));
  }
  return found;
}

TEST(TracerTest, ThreadsThatSpeakHaveTracksOfTheirOwn) {
  Tracer tracer;
  tracer.SetActive(true);
  std::thread([&] {
    const ThreadNameScope name(&tracer, "loader");
    const SpanScope outer(&tracer, "schedule", {"events", 3});
    const SpanScope inner(&tracer, "request");
  }).join();
  std::thread([&] { const ThreadNameScope name(&tracer, "has nothing to tell"); }).join();
  std::thread([&] { SpanScope(&tracer, "copy part"); }).join();
  EXPECT_THAT(SpansByTrack(tracer),
              ElementsAre("loader: schedule", "loader: request", "thread 1: copy part"));
  EXPECT_THAT(tracer.ToJson("p"), HasSubstr(R"("args":{"events":3})"));
  EXPECT_THAT(tracer.ToJson("p"), Not(HasSubstr("has nothing to tell")));
}

TEST(TracerTest, WhatBeginsBeforeItIsActiveIsLeftOut) {
  Tracer tracer;
  {
    const SpanScope before(&tracer, "before");
    tracer.SetActive(true);
    const SpanScope within(&tracer, "within");
    tracer.SetActive(false);
    const SpanScope behind(&tracer, "behind");
  }
  EXPECT_THAT(SpansByTrack(tracer), ElementsAre("thread 0: within"));
  const SpanScope unwanted(nullptr, "of nobody");
}

TEST(TracerTest, NestsPhasesInTheirStep) {
  Tracer tracer;
  StepRecorder recorder(&tracer);
  recorder.TraceSteps(1, 2);
  recorder.Start(1, At(0));
  recorder.Enter(Phase::kInput, At(0));
  recorder.Enter(Phase::kCompute, At(3));
  recorder.EndStep(1, At(9));
  const auto events = nlohmann::json::parse(tracer.ToJson("p"))["traceEvents"];
  ASSERT_THAT(events, SizeIs(4));  // The process, the step, input, compute.
  EXPECT_EQ(events[1]["name"], "step 1");
  EXPECT_EQ(events[2]["name"], "input");
  EXPECT_EQ(events[2]["ts"], events[1]["ts"]);
  EXPECT_EQ(events[3]["ts"].get<double>(), events[1]["ts"].get<double>() + 3000);
}

// A verdict over 1,000 ms in 10 steps. `input`, `launch` and `collective` are in ms; compute has
// the rest.
Verdict Of(int input, int launch, int collective, bool gpu = false, int output = 0) {
  VerdictInput in{.steps = 10, .gpu = gpu};
  in.times[Phase::kInput] = milliseconds(input);
  in.times[Phase::kLaunch] = milliseconds(launch);
  in.times[Phase::kCollective] = milliseconds(collective);
  in.times[Phase::kCompute] = milliseconds(1000 - input - launch - collective);
  in.times[Phase::kOutput] = milliseconds(output);
  return Judge(in);
}

TEST(VerdictTest, ThresholdsAreThoseOfTensorFlow) {
  EXPECT_EQ(Of(49, 0, 0).limit, Limit::kCompute);
  EXPECT_EQ(Of(50, 0, 0).limit, Limit::kInput);
  EXPECT_FALSE(Of(199, 0, 0).highly);
  EXPECT_TRUE(Of(200, 0, 0).highly);
  EXPECT_EQ(Of(0, 29, 0).limit, Limit::kCompute);
  EXPECT_EQ(Of(0, 30, 0).limit, Limit::kLaunch);
  EXPECT_TRUE(Of(0, 150, 0).highly);
  EXPECT_EQ(Of(0, 0, 29).limit, Limit::kCompute);
  EXPECT_EQ(Of(0, 0, 30).limit, Limit::kCollective);
  EXPECT_TRUE(Of(0, 0, 150).highly);
}

TEST(VerdictTest, OfSeveralTheFurthestCounts) {
  // Input takes 2 times its threshold, communication 3 times; then input takes 4 times.
  EXPECT_EQ(Of(100, 0, 90).limit, Limit::kCollective);
  EXPECT_EQ(Of(200, 30, 90).limit, Limit::kInput);
}

TEST(VerdictTest, OutputIsNoPartOfTheShares) {
  EXPECT_EQ(Of(60, 0, 0, false, /*output=*/100'000).limit, Limit::kInput);
}

TEST(VerdictTest, AGpuWithLittleToDoIsTooLarge) {
  VerdictInput in{.steps = 1000, .gpu = true};
  in.times[Phase::kLaunch] = milliseconds(100);
  in.times[Phase::kCompute] = milliseconds(150);  // 0.15 ms a step.
  EXPECT_EQ(Judge(in).limit, Limit::kTooSmallForGpu);
  EXPECT_THAT(Judge(in).text, HasSubstr("--steps-per-launch K"));
  in.times[Phase::kCompute] = milliseconds(300);
  EXPECT_EQ(Judge(in).limit, Limit::kLaunch);
  EXPECT_THAT(Judge(in).text, HasSubstr("--steps-per-launch K"));
}

TEST(VerdictTest, SaysSharesAndWhatToDo) {
  const Verdict verdict = Of(250, 0, 0);
  EXPECT_THAT(verdict.text,
              StartsWith("highly input-bound: a step takes 100 ms: 25.0 % input, 0.0 % copies"));
  EXPECT_THAT(verdict.text, HasSubstr("add servers"));
  EXPECT_THAT(Of(0, 0, 0).text, StartsWith("compute-bound"));
  EXPECT_EQ(Judge({}).text, "no step ran");
}

// Returns the advice for a training that only does `phase`, on the CPU unless `gpu` is set.
std::string AdviceTo(Phase phase, const VerdictOptions& told, bool gpu = false) {
  VerdictInput in{.steps = 1, .gpu = gpu, .told = told};
  in.times[phase] = milliseconds(1000);
  const std::string text = Judge(in).text;
  return text.substr(text.rfind("compute; ") + 9);
}

TEST(VerdictTest, AdviceToComputeFasterLeavesOutAPrecisionThatIsBf16Already) {
  EXPECT_EQ(AdviceTo(Phase::kCompute, {}),
            "to train faster, use a GPU, --precision bf16, more cores or more ranks");
  EXPECT_EQ(AdviceTo(Phase::kCompute, {.bf16 = true}),
            "to train faster, use a GPU, more cores or more ranks");
  EXPECT_EQ(AdviceTo(Phase::kCompute, {}, /*gpu=*/true),
            "to train faster, use --precision bf16, another GPU or more ranks");
  EXPECT_EQ(AdviceTo(Phase::kCompute, {.bf16 = true}, /*gpu=*/true),
            "to train faster, use another GPU or more ranks");
}

TEST(VerdictTest, AdviceToSendLessNamesWhatIsNotDoneYet) {
  EXPECT_THAT(AdviceTo(Phase::kCollective, {}),
              EndsWith("fewer ranks; --reduction fast --compression bf16 halves the bytes sent"));
  EXPECT_THAT(AdviceTo(Phase::kCollective, {.fast = true}),
              EndsWith("fewer ranks; --compression bf16 halves the bytes sent"));
  EXPECT_EQ(AdviceTo(Phase::kCollective, {.fast = true, .half_exchange = true}),
            "use a larger --global-batch-size, faster links or fewer ranks");
}

TEST(VerdictTest, AdviceToFeedOrLaunchFasterIsNotWhatIsDoneAlready) {
  EXPECT_THAT(AdviceTo(Phase::kInput, {}), HasSubstr("--synthetic-data"));
  EXPECT_THAT(AdviceTo(Phase::kInput, {.diagnoses = true}), EndsWith("measures their rate"));
  EXPECT_THAT(AdviceTo(Phase::kInput, {.packed = false}), StartsWith("use --dtype packed"));
  EXPECT_THAT(AdviceTo(Phase::kLaunch, {}), EndsWith("or --steps-per-launch K"));
  EXPECT_THAT(AdviceTo(Phase::kLaunch, {.several_steps_a_launch = true}),
              EndsWith("or a larger --steps-per-launch"));
  EXPECT_THAT(AdviceTo(Phase::kLaunch, {.several_steps_a_launch = true}, /*gpu=*/true),
              HasSubstr("a larger --steps-per-launch for fewer launches"));
}

TEST(ComparisonTest, SaysWhatInputCosts) {
  RunRate normal{.rows = 1000}, other{.rows = 1000};
  normal.times[Phase::kInput] = milliseconds(100);
  normal.times[Phase::kCompute] = milliseconds(400);
  other.times[Phase::kCompute] = milliseconds(400);
  EXPECT_EQ(CompareRuns(normal, other, "synthetic data"),
            "normal 2,000/s (input 20.0 % of the time), with synthetic data 2,500/s, "
            "1.25 times as fast; input slows training");
  normal.times[Phase::kInput] = milliseconds(10);
  EXPECT_THAT(CompareRuns(normal, other, "x"),
              HasSubstr("1.02 times as fast; input is not the limit"));
  EXPECT_THAT(CompareRuns(normal, {}, "x"), StartsWith("nothing to compare"));
  EXPECT_THAT(CompareRuns(normal, other, "x", Phase::kCollective),
              HasSubstr("1.02 times as fast; communication is not the limit"));
}

// Returns the finding for a training that waits `waited` ms in 100 and runs `ratio` times as fast
// without waiting.
std::string FindingOf(double waited, double ratio) {
  RunRate normal{.rows = 10000}, other{.rows = static_cast<uint64_t>(10000 * ratio)};
  normal.times[Phase::kInput] = std::chrono::microseconds(std::lround(1000 * waited));
  normal.times[Phase::kCompute] = milliseconds(100) - normal.times[Phase::kInput];
  other.times[Phase::kCompute] = milliseconds(100);
  return CompareRuns(normal, other, "synthetic data");
}

// Any two runs differ if the machine does other work for a while.
TEST(ComparisonTest, WhatTheWaitDoesNotExplainIsNotShown) {
  EXPECT_THAT(FindingOf(0, 1.21),
              HasSubstr("1.21 times as fast; inconclusive: waiting for input took 0.0 % of the "
                        "time, so 1.00 times was expected"));
  EXPECT_THAT(FindingOf(20, 1.01), HasSubstr("inconclusive: waiting for input took 20.0 %"));
  EXPECT_THAT(FindingOf(20, 1.5), HasSubstr("input slows training"));
  EXPECT_THAT(FindingOf(4, 1.06), HasSubstr("input slows training"));
  EXPECT_THAT(FindingOf(6, 1.04), HasSubstr("input is not the limit"));
}

TEST(ComparisonTest, HardlyAnyWaitExplainsNoCost) {
  EXPECT_THAT(FindingOf(0.04, 1.0502),
              HasSubstr("1.05 times as fast; inconclusive: waiting for input took 0.0 %"));
  EXPECT_THAT(FindingOf(0, 1.04), HasSubstr("input is not the limit"));
  EXPECT_THAT(FindingOf(1, 1.05), HasSubstr("input slows training"));
}

// Leaving something out cannot make steps slower.
TEST(ComparisonTest, AMachineThatWasSlowerWithoutInputWasUneven) {
  EXPECT_THAT(FindingOf(0, 0.85),
              HasSubstr("0.85 times as fast; inconclusive: the steps without waiting for input "
                        "were slower, so the machine's speed varied; repeat with more --steps"));
  EXPECT_THAT(FindingOf(30, 0.94), HasSubstr("inconclusive: the steps without waiting for input"));
  EXPECT_THAT(FindingOf(0, 0.95), HasSubstr("input is not the limit"));
}

TEST(MemoryTableTest, AddsUp) {
  EXPECT_EQ(MemoryTable("memory", {{"parameters", 1 << 20, ""}, {"moments", 3 << 19, "m and v"}}),
            "memory\n"
            "  parameters         1.0 MiB\n"
            "  moments            1.5 MiB  m and v\n"
            "  total              2.5 MiB\n");
}

TEST(RanksMemoryTableTest, HasAColumnForEachOfAFewRanks) {
  EXPECT_EQ(RanksMemoryTable({{"parameters", 1 << 20, ""}, {"slots", 1 << 20, "of rank 0"}},
                             {{1 << 20, 1 << 20}, {1 << 20, 3 << 20}}),
            "  memory, MiB     rank 0    rank 1\n"
            "  parameters         1.0       1.0\n"
            "  slots              1.0       3.0  of rank 0\n"
            "  total              2.0       4.0\n");
}

TEST(RanksMemoryTableTest, NamesTheLargestOfMany) {
  std::vector<std::vector<uint64_t>> bytes(kRankColumns + 1, {2 << 20});
  bytes[5] = {7 << 20};
  EXPECT_EQ(RanksMemoryTable({{"slots", 0, ""}}, bytes),
            "  memory, MiB   smallest   largest   of rank\n"
            "  slots              2.0       7.0         5\n"
            "  total              2.0       7.0         5\n");
}

}  // namespace
}  // namespace penstock
