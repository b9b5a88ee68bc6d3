#include "trainer/profile/device_profile.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "trainer/profile/clock_map.h"
#include "trainer/profile/device_gaps.h"
#include "trainer/profile/device_spans.h"
#include "trainer/profile/kernel_name.h"

namespace penstock {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;
using Json = nlohmann::json;

Tracer::Clock::time_point AtMicros(int us) { return Tracer::Clock::time_point(microseconds(us)); }

TEST(ShortKernelNameTest, LeavesWhatAPersonLooksFor) {
  EXPECT_EQ(ShortKernelName("_ZN8penstock4cuda4GeluIfEEvPKT_PS2_"), "Gelu<float>");
  EXPECT_EQ(ShortKernelName("_ZN8penstock12_GLOBAL__N_13AddILi64EN5other4BoldEEEvPfi"),
            "Add<64, other::Bold>");
  EXPECT_EQ(ShortKernelName("sm90_xmma_gemm_bf16bf16_bf16f32_tn_n"),
            "sm90_xmma_gemm_bf16bf16_bf16f32_tn_n");
  EXPECT_EQ(ShortKernelName("_Z but no mangled name"), "name");
  EXPECT_EQ(ShortKernelName(""), "");
}

TEST(ShortKernelNameTest, CutsLongNames) {
  const std::string name = ShortKernelName(std::string(500, 'x'));
  EXPECT_EQ(name, std::string(kMaxKernelName - 3, 'x') + "...");
}

TEST(PairClocksTest, TheClosestTryCounts) {
  std::deque<int> host = {0, 10, 20, 22, 30, 39};  // Readings before and after each try.
  uint64_t other = 1000;
  const ClockPair pair = PairClocks([&] { return other++; }, 3,
                                    [&] {
                                      const int now = host.front();
                                      host.pop_front();
                                      return AtMicros(now);
                                    });
  EXPECT_EQ(pair.host, AtMicros(21));
  EXPECT_EQ(pair.other_ns, 1001);
  EXPECT_EQ(pair.window, microseconds(2));
}

TEST(ClockMapTest, FollowsAStraightLine) {
  // The other clock is 100 ppm slow.
  const ClockMap map({AtMicros(0), 5'000'000'000}, {AtMicros(1'000'000), 5'999'900'000});
  EXPECT_FALSE(map.was_set());
  EXPECT_EQ(map.ToHost(5'000'000'000), AtMicros(0));
  EXPECT_EQ(map.ToHost(5'999'900'000), AtMicros(1'000'000));
  EXPECT_EQ(map.ToHost(5'499'950'000), AtMicros(500'000));
  EXPECT_EQ(map.ToHost(4'999'000'100 - 100),
            AtMicros(0) - nanoseconds(1'000'100));  // This is before the first pair.
}

TEST(ClockMapTest, AClockThatWasSetIsNoStraightLine) {
  const ClockMap map({AtMicros(0), 5'000'000'000}, {AtMicros(1'000'000), 16'000'000'000});
  EXPECT_TRUE(map.was_set());
  EXPECT_EQ(map.ToHost(5'000'001'000), AtMicros(1));
  EXPECT_TRUE(
      ClockMap({AtMicros(0), 5'000'000'000}, {AtMicros(1'000'000), 4'000'000'000}).was_set());
}

TEST(ClockMapTest, AShortTimeIsNoReasonForDoubt) {
  const ClockMap map({AtMicros(0), 1'000'000, microseconds(20)},
                     {AtMicros(100), 1'110'000, microseconds(20)});
  EXPECT_FALSE(map.was_set());
  EXPECT_EQ(map.ToHost(1'010'000), AtMicros(10));
}

// Records of kernels on streams, in microseconds.
class Records {
 public:
  Records() {
    records_.source = "test";
    records_.every_kernel = true;
    records_.streams = {"compute", "copies"};
  }
  Records& Add(size_t launch, uint32_t stream, int begin, int end, const std::string& name = "k",
               uint32_t correlation = 0) {
    records_.work.push_back({.name = NameOf(name),
                             .stream = stream,
                             .correlation = correlation,
                             .launch = launch,
                             .begin = AtMicros(begin),
                             .end = AtMicros(end)});
    return *this;
  }
  Records& Call(uint64_t thread, int begin, int end, const std::string& name,
                uint32_t correlation) {
    records_.calls.push_back({.name = NameOf(name),
                              .thread = thread,
                              .correlation = correlation,
                              .begin = AtMicros(begin),
                              .end = AtMicros(end)});
    return *this;
  }
  DeviceRecords& records() { return records_; }

 private:
  uint32_t NameOf(const std::string& name) {
    records_.names.push_back(name);
    return static_cast<uint32_t>(records_.names.size() - 1);
  }
  DeviceRecords records_;
};

const std::vector<DeviceLaunch> kTwoSteps = {
    {500, 1, true, "batch"}, {501, 1, false, "batch"}, {501, 1, true, "batch"}};

TEST(MeasureGapsTest, TellsIdleInsideFromIdleBetweenSteps) {
  Records records;
  records.Add(0, 0, 100, 110, "first").Add(0, 0, 113, 120, "second").Add(0, 0, 120, 130, "third");
  records.Add(1, 1, 90, 300);  // The copy for the next step does not count.
  records.Add(2, 0, 131, 140).Add(2, 0, 145, 150);
  const DeviceTimes times = MeasureGaps(records.records(), kTwoSteps);
  ASSERT_THAT(times.steps, SizeIs(2));
  EXPECT_EQ(times.steps[0].step, 500);
  EXPECT_EQ(times.steps[0].busy, microseconds(27));
  EXPECT_EQ(times.steps[0].inside, microseconds(3));
  EXPECT_EQ(times.steps[0].before, microseconds(0));
  EXPECT_EQ(times.steps[0].works, 3);
  EXPECT_EQ(times.steps[1].before, microseconds(1));
  EXPECT_EQ(times.steps[1].inside, microseconds(5));
  EXPECT_EQ(times.sum.busy + times.sum.inside + times.sum.before, microseconds(50));
  EXPECT_EQ(times.longest, microseconds(5));
  EXPECT_EQ(DeviceTimesLine(times),
            "device, by test: steps 500 to 501, 0.025 ms each: 82.0 % busy, 2.00 % idle between "
            "steps, 16.00 % idle inside launches (the longest gap 5 us, after k and before k); 2.5 "
            "kernels and copies per step");
}

TEST(MeasureGapsTest, WorkOfSeveralStreamsIsBusyOnce) {
  Records records;  // The records are unordered; the second ends within the first.
  records.Add(0, 1, 150, 170).Add(0, 0, 110, 120).Add(0, 0, 100, 140);
  const DeviceTimes times = MeasureGaps(records.records(), kTwoSteps);
  EXPECT_EQ(times.sum.busy, microseconds(60));
  EXPECT_EQ(times.sum.inside, microseconds(10));
}

TEST(MeasureGapsTest, LaunchesOfAStepHaveAnExchangeBetweenThem) {
  const std::vector<DeviceLaunch> launches = {{7, 1, true, "batch"}, {7, 1, true, "update"}};
  Records records;
  records.Add(0, 0, 0, 10).Add(1, 0, 40, 50);
  const DeviceTimes times = MeasureGaps(records.records(), launches);
  ASSERT_THAT(times.steps, SizeIs(1));
  EXPECT_EQ(times.steps[0].between, microseconds(30));
  EXPECT_EQ(times.steps[0].inside, microseconds(0));
  EXPECT_THAT(DeviceTimesLine(times), HasSubstr("60.00 % idle between a step's launches"));
}

TEST(MeasureGapsTest, StepsThatOverlapAreNotIdle) {
  Records records;
  records.Add(0, 0, 0, 20).Add(2, 0, 15, 30);
  const DeviceTimes times = MeasureGaps(records.records(), kTwoSteps);
  EXPECT_EQ(times.sum.before, microseconds(0));
  EXPECT_EQ(times.steps[1].busy, microseconds(10));
}

TEST(MeasureGapsTest, TellsCommunicationThatHidesBehindNothing) {
  Records records;  // Communication is alone from 10 to 15, 30 to 40 and 42 to 60.
  records.Add(0, 0, 0, 10).Add(0, 1, 5, 20, "nccl").Add(0, 0, 15, 30).Add(0, 1, 25, 60, "nccl");
  records.Add(0, 0, 40, 42);
  for (size_t i : {1, 3}) records.records().work[i].communicates = true;
  const DeviceTimes times = MeasureGaps(records.records(), kTwoSteps);
  EXPECT_EQ(times.sum.busy, microseconds(60));
  EXPECT_EQ(times.sum.alone, microseconds(33));
  EXPECT_EQ(times.sum.inside, microseconds(0));
  EXPECT_THAT(DeviceTimesLine(times), HasSubstr("55.00 % only communicating"));
}

TEST(MeasureGapsTest, SaysWhatItDoesNotKnow) {
  Records records;
  records.records().every_kernel = false;
  EXPECT_EQ(DeviceTimesLine(MeasureGaps(records.records(), kTwoSteps)),
            "device, by test: no work of a step was recorded");
  records.Add(0, 0, 0, 10).Add(kNoLaunch, 0, 20, 30);
  const DeviceTimes times = MeasureGaps(records.records(), kTwoSteps);
  EXPECT_EQ(times.sum.works, 1);
  EXPECT_THAT(DeviceTimesLine(times), HasSubstr("idle inside a launch is not known"));
}

TEST(DeviceNotesTest, SayWhatIsMissing) {
  Records records;
  EXPECT_THAT(DeviceNotes(records.records()), IsEmpty());
  records.records().notes = {"a note"};
  records.records().dropped = 3;
  records.records().untimed = 4;
  EXPECT_THAT(DeviceNotes(records.records()),
              ElementsAre("a note", StartsWith("3 records of GPU work were dropped"),
                          StartsWith("4 records of GPU work have no times")));
}

struct Trace {
  std::map<std::string, std::vector<Json>> tracks;  // Spans by track.
  std::vector<Json> starts, ends;                   // Both ends of arrows.
};

Trace TraceOf(const DeviceRecords& records, const std::vector<DeviceLaunch>& launches) {
  Tracer tracer;
  AddDeviceSpans(records, launches, tracer);
  Trace trace;
  std::map<int, std::string> names;
  double newest = 0;
  const Json json = Json::parse(tracer.ToJson("p"));
  for (const Json& event : json["traceEvents"]) {
    if (event["name"] == "thread_name") names[event["tid"]] = event["args"]["name"];
    if (event["ph"] == "s") trace.starts.push_back(event);
    if (event["ph"] == "f") trace.ends.push_back(event);
    if (event["ph"] != "X") continue;
    EXPECT_GE(event["ts"].get<double>(), newest);
    EXPECT_GE(event["dur"].get<double>(), 0);
    newest = event["ts"];
    trace.tracks[names.at(event["tid"])].push_back(event);
  }
  return trace;
}

TEST(AddDeviceSpansTest, AStreamIsATrack) {
  Records records;
  records.Add(2, 0, 30, 40, "late").Add(0, 0, 10, 20, "early").Add(1, 1, 12, 35, "copy");
  records.records().work[2].bytes = 4096;
  const Trace trace = TraceOf(records.records(), kTwoSteps);
  EXPECT_THAT(trace.tracks, SizeIs(2));
  const std::vector<Json>& compute = trace.tracks.at("compute");
  ASSERT_THAT(compute, SizeIs(2));
  EXPECT_EQ(compute[0]["name"], "early");
  EXPECT_EQ(compute[0]["args"]["step"], 500);
  EXPECT_EQ(compute[0]["dur"], 10.0);
  EXPECT_EQ(compute[1]["args"]["step"], 501);
  EXPECT_EQ(trace.tracks.at("copies")[0]["args"]["bytes"], 4096);
}

TEST(AddDeviceSpansTest, WorkThatOverlapsOnAStreamGetsTracksBesideIt) {
  Records records;
  records.Add(0, 0, 0, 20).Add(0, 0, 10, 30).Add(0, 0, 20, 40).Add(0, 0, 29, 35);
  const Trace trace = TraceOf(records.records(), kTwoSteps);
  EXPECT_THAT(trace.tracks.at("compute"), SizeIs(2));
  EXPECT_THAT(trace.tracks.at("compute (2)"), SizeIs(1));
  EXPECT_THAT(trace.tracks.at("compute (3)"), SizeIs(1));
}

TEST(AddDeviceSpansTest, OfOtherWorkWhatLiesBeforeAndBehindIsLeftOut) {
  Records records;
  records.Add(kNoLaunch, 0, 0, 10, "before").Add(0, 0, 10, 20).Add(kNoLaunch, 1, 15, 18, "nccl");
  records.Add(kNoLaunch, 0, 20, 25, "behind");
  const Trace trace = TraceOf(records.records(), kTwoSteps);
  EXPECT_THAT(trace.tracks.at("compute"), SizeIs(1));
  const Json& other = trace.tracks.at("copies").at(0);
  EXPECT_EQ(other["name"], "nccl");
  EXPECT_FALSE(other.contains("args"));
}

TEST(AddDeviceSpansTest, AnArrowLeadsFromTheCallToTheFirstItQueued) {
  Records records;
  records.Add(0, 0, 30, 40, "second", 7).Add(0, 0, 20, 30, "first", 7).Add(0, 0, 50, 60, "x", 9);
  records.Call(77, 1, 9, "cudaGraphLaunch", 7).Call(77, 2, 8, "cuGraphLaunch", 7);
  records.Call(77, 10, 11, "cudaEventRecord", 8);  // This call queued no recorded work.
  const Trace trace = TraceOf(records.records(), kTwoSteps);
  const std::vector<Json>& calls = trace.tracks.at("CUDA calls of thread 1");
  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_EQ(calls[0]["name"], "cudaGraphLaunch");
  ASSERT_THAT(trace.starts, SizeIs(1));
  ASSERT_THAT(trace.ends, SizeIs(1));
  EXPECT_EQ(trace.starts[0]["id"], trace.ends[0]["id"]);
  EXPECT_EQ(trace.starts[0]["ts"], calls[0]["ts"]);
  EXPECT_EQ(trace.ends[0]["ts"], trace.tracks.at("compute")[0]["ts"]);
}

TEST(AddDeviceSpansTest, WorkThatEndsBeforeItBeginsHasNoLength) {
  Records records;
  records.Add(0, 0, 20, 10);
  EXPECT_EQ(TraceOf(records.records(), kTwoSteps).tracks.at("compute")[0]["dur"], 0.0);
}

// Records calls, and fails in the call named `fails`.
class NotingRecorder final : public DeviceRecorder {
 public:
  NotingRecorder(std::vector<std::string>& calls, std::string fails)
      : calls_(calls), fails_(std::move(fails)) {}
  absl::Status Start() override { return Note("start"); }
  absl::Status Begin(size_t launch, size_t stream, const char* what) override {
    return Note(std::to_string(launch) + " on " + std::to_string(stream) + ": " + what);
  }
  absl::Status End() override { return Note("end"); }
  absl::StatusOr<DeviceRecords> Stop() override {
    if (absl::Status noted = Note("stop"); !noted.ok()) return noted;
    return DeviceRecords{};
  }

 private:
  absl::Status Note(const std::string& call) {
    calls_.push_back(call);
    return call == fails_ ? absl::InternalError("no " + call) : absl::OkStatus();
  }
  std::vector<std::string>& calls_;
  const std::string fails_;
};

class DeviceProfileTest : public testing::Test {
 protected:
  // Steps 1 to 6 of a backend that begins the next step before it ends one, with the profile 3:5.
  void RunSteps(const std::string& fails = "") {
    Use({fails});
    Launch(1);
    for (uint64_t step = 1; step <= 6; ++step) {
      Launch(step + 1);
      if (profile_.EndsWith(step)) profile_.Stop();
    }
    profile_.Stop();
  }
  // Creates a recorder for each entry, which fails in the call that the entry names.
  void Use(const std::vector<std::string>& fails, const std::string& problem = "") {
    std::vector<std::unique_ptr<DeviceRecorder>> recorders;
    for (const std::string& call : fails) {
      recorders.push_back(std::make_unique<NotingRecorder>(calls_, call));
    }
    profile_.Use(std::move(recorders), problem);
  }
  void Launch(uint64_t step) { DeviceLaunchScope scope(&profile_, {step, 1, true, "batch"}, 0); }

  std::vector<std::string> calls_;
  DeviceProfile profile_{3, 5};
};

TEST_F(DeviceProfileTest, RecordsTheStepsAskedFor) {
  RunSteps();
  EXPECT_THAT(calls_, ElementsAre("start", "0 on 0: batch", "end", "1 on 0: batch", "end", "stop"));
  ASSERT_THAT(profile_.launches(), SizeIs(2));
  EXPECT_EQ(profile_.launches()[1].step, 4);
  EXPECT_TRUE(profile_.records().has_value());
  EXPECT_EQ(profile_.problem(), "");
}

TEST_F(DeviceProfileTest, ARecorderThatFailsIsToldOfOnceAndStopped) {
  RunSteps("1 on 0: batch");
  EXPECT_THAT(calls_, ElementsAre("start", "0 on 0: batch", "end", "1 on 0: batch", "stop"));
  EXPECT_EQ(profile_.problem(), "recording a launch failed: no 1 on 0: batch");
}

TEST_F(DeviceProfileTest, WhatCannotStartRecordsNothing) {
  RunSteps("start");
  EXPECT_THAT(calls_, ElementsAre("start"));
  EXPECT_FALSE(profile_.records().has_value());
  EXPECT_THAT(profile_.problem(), HasSubstr("no start"));
}

TEST_F(DeviceProfileTest, ARecorderThatCannotStartMakesWayForTheNext) {
  Use({"start", "start", ""});
  Launch(3);
  profile_.Stop();
  EXPECT_THAT(calls_, ElementsAre("start", "start", "start", "0 on 0: batch", "end", "stop"));
  EXPECT_TRUE(profile_.records().has_value());
  EXPECT_EQ(profile_.problem(), "recording the GPU failed: no start");
}

TEST_F(DeviceProfileTest, ATrainingThatEndsEarlyKeepsWhatThereIs) {
  Use({""}, "why");
  Launch(3);
  profile_.Stop();
  EXPECT_TRUE(profile_.records().has_value());
  EXPECT_EQ(profile_.problem(), "why");
}

TEST_F(DeviceProfileTest, WithoutARecorderNothingIsKept) {
  Launch(3);
  EXPECT_FALSE(profile_.EndsWith(4));
  EXPECT_THAT(profile_.launches(), IsEmpty());
}

TEST_F(DeviceProfileTest, SeveralStepsOfALaunchAreRecordedIfOneIsAskedFor) {
  Use({""});
  { DeviceLaunchScope scope(&profile_, {1, 2, true, "steps"}, 0); }
  { DeviceLaunchScope scope(&profile_, {2, 2, true, "steps"}, 0); }
  EXPECT_THAT(profile_.launches(), SizeIs(1));
}

}  // namespace
}  // namespace penstock
