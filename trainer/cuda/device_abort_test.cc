// Ranks whose NCCL launches in different ways, and the end of exchanges in graphs that are in
// flight.
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/backend/device/testing/paced_device.h"
#include "trainer/backend/testing/boards.h"
#include "trainer/comm/gather.h"
#include "trainer/comm/testing/rank_threads.h"
#include "trainer/cuda/testing/nccl_hang.h"
#include "trainer/cuda/testing/nccl_rank.h"

namespace penstock {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr size_t kAbortRows = 2;
constexpr size_t kAbortBuckets = 5;
// Each of two slots runs once as a list, then as a graph. A bucket has two groups.
constexpr size_t kFirstGraph = 2, kGroupsOfStep = 2 * kAbortBuckets;

struct LaunchWay {
  const char* name;
  bool blocking = false;
  bool from_thread = false;
  bool tested = false;
};

class DeviceAbortTest : public testing::TestWithParam<LaunchWay> {
 protected:
  DeviceAbortTest() {
    setenv("PENSTOCK_CUDA_LIBS", PENSTOCK_FAKE_NCCL, 1);
    if (GetParam().from_thread) setenv("FAKE_NCCL_LAUNCH", "thread", 1);
  }
  ~DeviceAbortTest() override { unsetenv("FAKE_NCCL_LAUNCH"); }

  static NcclRankOptions Options() {
    NcclRankOptions options{
        .model = SmallModel(/*dropout=*/0.2),
        .backend = {.shards = 2, .global_rows = kAbortRows, .bf16 = true, .bucket_floats = 700},
        .nccl = {.blocking = GetParam().blocking},
        .tested = GetParam().tested};
    options.waits.verdict_timeout = absl::Milliseconds(100);
    return options;
  }
  static absl::Status Begin(NcclRank& rank, size_t step) {
    const RandomBoards boards(kAbortRows, step);
    const size_t first = FirstRowOf(rank.ranks().rank(), 2, kAbortRows);
    absl::Status status =
        rank.backend().Stage(boards.rows().Slice(first, 1), {.global_rows = kAbortRows}, true);
    status.Update(rank.backend().Begin());
    return status;
  }
  static absl::Status Step(NcclRank& rank, size_t step) {
    absl::Status status = Begin(rank, step);
    status.Update(rank.backend().Finish().status());
    return status;
  }
  static TrainState StateAfterFourSteps(const NcclRankOptions& options) {
    TrainState state;
    RunRanks(2, [&](RankGroup& group) {
      DeviceLog log;
      NcclRank rank(group, options, log);
      log.problems.clear();  // The test of graphs uses memory of its own.
      for (size_t step = 0; step < 2 * kFirstGraph; ++step) ASSERT_OK(Step(rank, step));
      EXPECT_THAT(log.problems, IsEmpty());
      ASSERT_OK_AND_ASSIGN(TrainState own, rank.backend().ReadState());
      if (group.info().rank == 0) state = std::move(own);
    });
    return state;
  }
};

INSTANTIATE_TEST_SUITE_P(Launches, DeviceAbortTest,
                         testing::Values(LaunchWay{"AtOnce"},
                                         LaunchWay{.name = "FromAThread", .from_thread = true},
                                         LaunchWay{.name = "Blocking", .blocking = true},
                                         LaunchWay{.name = "Tested", .tested = true}),
                         [](const auto& test) { return test.param.name; });

TEST_P(DeviceAbortTest, EveryWayGivesTheSameBits) {
  NcclRankOptions plain = Options();
  plain.nccl = {};
  plain.tested = false;
  plain.backend.graphs = false;
  const TrainState state = StateAfterFourSteps(Options());
  unsetenv("FAKE_NCCL_LAUNCH");
  EXPECT_EQ(state.parameters, StateAfterFourSteps(plain).parameters);
}

// The fake's abort returns only when no graph has an exchange any more.
TEST_P(DeviceAbortTest, AGraphInFlightThatHangsIsAborted) {
  const size_t tested = GetParam().tested ? 1 : 0;  // A group before the training.
  const NcclHang hang(tested + kFirstGraph * kGroupsOfStep + 3);
  NcclRankOptions options = Options();
  options.wrap = [&](std::unique_ptr<Device> device) -> std::unique_ptr<Device> {
    return std::make_unique<HastyDevice>(std::move(device), [&] { return hang.reached(); });
  };
  options.waits.timeout = absl::Seconds(3);
  RunRanks(2, [&](RankGroup& group) {
    DeviceLog log;
    NcclRank rank(group, options, log);
    for (size_t step = 0; step < kFirstGraph; ++step) ASSERT_OK(Step(rank, step));
    const absl::Status status = Step(rank, kFirstGraph);
    group.Fail(status);
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable,
                                 HasSubstr("gradients of step 2, bucket 1 of 5")));
    EXPECT_THAT(rank.backend().ReadState(),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the state is lost")));
  });
}

// A rank that ends while its graph is in flight does not wait for the other rank, which never
// begins that step.
TEST_P(DeviceAbortTest, ARankThatEndsAbortsItsGraphInFlight) {
  RunRanks(2, [&](RankGroup& group) {
    DeviceLog log;
    {
      NcclRank rank(group, Options(), log);
      for (size_t step = 0; step < kFirstGraph; ++step) ASSERT_OK(Step(rank, step));
      if (group.info().rank == 0) {
        ASSERT_OK(Begin(rank, kFirstGraph));
      }
    }
    EXPECT_OK(group.communicator().Barrier());
  });
}

}  // namespace
}  // namespace penstock
