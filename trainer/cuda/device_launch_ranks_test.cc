// Several steps per launch, on ranks that exchange gradients while they compute others.
#include <cstdlib>
#include <latch>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/counter_rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/backend/device/forwarding_device.h"
#include "trainer/backend/device/step_lists.h"
#include "trainer/backend/device/testing/paced_device.h"
#include "trainer/backend/testing/boards.h"
#include "trainer/comm/gather.h"
#include "trainer/comm/testing/rank_threads.h"
#include "trainer/cuda/testing/nccl_hang.h"
#include "trainer/cuda/testing/nccl_rank.h"
#include "trainer/input/board_reader.h"
#include "trainer/input/testing/memory_input.h"
#include "trainer/loop/train_loop.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const ModelConfig kSmall = SmallModel(/*dropout=*/0.2);
constexpr size_t kRows = 2;
constexpr size_t kBuckets = 5;

// Batches are always ready without a seed, and only sometimes with one. The input fails after
// `fails_after` batches.
class FitfulInput final : public MemoryInput {
 public:
  FitfulInput(const RankInfo& info, std::optional<uint64_t> seed, size_t fails_after)
      : MemoryInput(/*records=*/20 * kRows, kRows, /*seed=*/1, "", info.rank, info.world_size),
        fitful_(seed.has_value()),
        rng_(seed.value_or(0) + info.rank),
        left_(fails_after) {}
  absl::StatusOr<bool> Next(InputBatch& batch) override {
    if (left_-- == 0) return absl::DataLossError("shard 7 is cut short");
    return MemoryInput::Next(batch);
  }
  bool Ready() const override { return !fitful_ || rng_.Below(3) > 0; }

 private:
  const bool fitful_;
  mutable CounterRng rng_;
  size_t left_;
};

// Counts launches.
class CountingDevice final : public ForwardingDevice {
 public:
  CountingDevice(std::unique_ptr<Device> device, uint64_t& launches)
      : ForwardingDevice(std::move(device)), launches_(launches) {}
  absl::Status Record(DeviceEvent event, DeviceQueue queue) override {
    launches_ += event == DoneOf(0) || event == DoneOf(1);
    return device().Record(event, queue);
  }

 private:
  uint64_t& launches_;
};

struct LaunchOutcome {
  DeviceLog log;
  uint64_t launches = 0;
  std::vector<uint64_t> launches_then;  // Number of launches at each step's report.
  absl::Status status;
  uint64_t steps = 0;
  std::vector<double> losses;
  TrainState state;
};

struct Plan {
  size_t steps_per_launch = 1;
  std::optional<uint64_t> seed = std::nullopt;
  uint64_t total_steps = 8, accumulate = 1;
  size_t fails_after = 1000;  // Number of batches on rank 1 before it fails.
  std::optional<uint64_t> last_talking_step = std::nullopt;
  uint64_t save_every = 0;
  std::optional<uint64_t> stops_after = std::nullopt;  // Number of steps on rank 1.
};

class DeviceLaunchRanksTest : public testing::Test {
 protected:
  DeviceLaunchRanksTest() { setenv("PENSTOCK_CUDA_LIBS", PENSTOCK_FAKE_NCCL, 1); }
  ~DeviceLaunchRanksTest() override { unsetenv("FAKE_NCCL_FAULT"); }

  static NcclRankOptions Options(size_t steps_per_launch) {
    return {.model = kSmall,
            .backend = {.shards = 2,
                        .global_rows = kRows,
                        .bf16 = true,
                        .steps_per_launch = steps_per_launch,
                        .bucket_floats = 700}};
  }

  static std::vector<LaunchOutcome> Train(const Plan& run) {
    std::vector<LaunchOutcome> outcomes(2);
    RunRanks(2, [&](RankGroup& group) {
      LaunchOutcome& outcome = outcomes[group.info().rank];
      NcclRankOptions options = Options(run.steps_per_launch);
      options.seed = run.seed;
      options.last_talking_step = run.last_talking_step;
      options.wrap = [&](std::unique_ptr<Device> device) -> std::unique_ptr<Device> {
        return std::make_unique<CountingDevice>(std::move(device), outcome.launches);
      };
      NcclRank rank(group, options, outcome.log);
      const size_t fails_after = group.info().rank == 1 ? run.fails_after : 1000;
      FitfulInput input(group.info(), run.seed, fails_after);
      BoardReader reader;
      TrainLoopOptions loop{.total_steps = run.total_steps,
                            .accumulate = run.accumulate,
                            .ranks = &group.communicator()};
      loop.clip_norm = 0.1;
      loop.checkpoint_every = run.save_every;
      loop.rank_0_saves = run.save_every != 0;  // The states are read and compared.
      if (run.stops_after.has_value() && group.info().rank == 1) {
        loop.should_stop = [&] { return outcome.losses.size() >= *run.stops_after; };
      }
      loop.on_step = [&](const StepReport& step) {
        outcome.losses.push_back(step.loss);
        outcome.launches_then.push_back(outcome.launches);
      };
      outcome.status =
          TrainLoop(rank.backend(), reader, input, {.model = kSmall}, loop).Run().status();
      outcome.steps = rank.backend().steps();
      if (const auto state = rank.backend().ReadState(); state.ok()) outcome.state = *state;
    });
    return outcomes;
  }

  static void ExpectSame(const std::vector<LaunchOutcome>& a, const std::vector<LaunchOutcome>& b) {
    for (size_t rank = 0; rank < a.size(); ++rank) {
      EXPECT_OK(a[rank].status);
      EXPECT_THAT(a[rank].log.problems, IsEmpty());
      EXPECT_EQ(a[rank].losses, b[rank].losses);
      EXPECT_EQ(a[rank].state.parameters, b[rank].state.parameters);
      EXPECT_EQ(a[rank].state.v, b[rank].state.v);
    }
  }
};

TEST_F(DeviceLaunchRanksTest, RanksThatReadAtTheirOwnPaceTrainAsWithOneStepALaunch) {
  const std::vector<LaunchOutcome> one = Train({});
  ASSERT_EQ(one[0].losses.size(), 8u);
  for (const uint64_t seed : {1, 2, 3, 4}) {
    ExpectSame(Train({.steps_per_launch = 1 + seed % 3 + 1, .seed = 10 * seed}), one);
  }
}

TEST_F(DeviceLaunchRanksTest, AGraphOfStepsIsLaunchedAndTheEndIsWhereItIs) {
  Plan run{.steps_per_launch = 2, .total_steps = 13};
  const std::vector<LaunchOutcome> two = Train(run);
  run.steps_per_launch = 1;
  ExpectSame(two, Train(run));
  EXPECT_EQ(two[0].steps, 13u);
  EXPECT_GT(two[0].log.launched_graphs, 0u);
}

TEST_F(DeviceLaunchRanksTest, AccumulatedBatchesAreOneStep) {
  ExpectSame(Train({.steps_per_launch = 3, .seed = 5, .total_steps = 4, .accumulate = 2}),
             Train({.total_steps = 4, .accumulate = 2}));
}

TEST_F(DeviceLaunchRanksTest, ARankWhoseInputFailsEndsAllBehindTheStepsThatAllHave) {
  const std::vector<LaunchOutcome> ranks = Train({.steps_per_launch = 4, .fails_after = 6});
  EXPECT_THAT(ranks[0].status, StatusIs(absl::StatusCode::kUnavailable,
                                        AllOf(HasSubstr("rank 1 failed"), HasSubstr("shard 7"))));
  EXPECT_THAT(ranks[1].status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("shard 7")));
  EXPECT_EQ(ranks[0].steps, ranks[1].steps);
  EXPECT_LE(ranks[0].steps, 6u);
  EXPECT_EQ(ranks[0].state.parameters, ranks[1].state.parameters);
}

TEST_F(DeviceLaunchRanksTest, RanksFallSilentWithinALaunch) {
  const auto one = Train({.last_talking_step = 3});
  ExpectSame(Train({.steps_per_launch = 2, .seed = 7, .last_talking_step = 3}), one);
  EXPECT_NE(one[0].state.parameters, one[1].state.parameters);
}

TEST_F(DeviceLaunchRanksTest, StepsAreBegunAheadUpToWhatIsDue) {
  const std::vector<LaunchOutcome> one = Train({}), saved = Train({.save_every = 3});
  EXPECT_THAT(one[1].launches_then, ElementsAre(2, 3, 4, 5, 6, 7, 8, 8));
  EXPECT_THAT(saved[1].launches_then, ElementsAre(2, 3, 3, 5, 6, 6, 8, 8));
  ExpectSame(saved, one);
  ExpectSame(Train({.steps_per_launch = 2, .seed = 11, .save_every = 3}), one);
}

TEST_F(DeviceLaunchRanksTest, OneRanksStopStopsAllBehindTheStepsThatAllHaveBegun) {
  for (const uint64_t steps : {1, 2}) {
    const std::vector<LaunchOutcome> stopped = Train({.steps_per_launch = steps, .stops_after = 3});
    EXPECT_GE(stopped[0].steps, 3u);
    EXPECT_LE(stopped[0].steps, 3 + 2 * steps);
    EXPECT_EQ(stopped[1].steps, stopped[0].steps);
    ExpectSame(stopped, Train({.total_steps = stopped[0].steps}));
  }
}

// Stages `steps` batches, and begins them.
void Begin(NcclRank& rank, size_t steps, std::optional<size_t> diverges = std::nullopt) {
  for (size_t step = 0; step < steps; ++step) {
    RandomBoards boards(kRows, step);
    if (step == diverges) boards.scores[0] = std::numeric_limits<float>::quiet_NaN();
    const size_t first = FirstRowOf(rank.ranks().rank(), 2, kRows);
    ASSERT_OK(rank.backend().Stage(boards.rows().Slice(first, 1), {.global_rows = kRows}, true));
  }
  ASSERT_OK(rank.backend().Begin());
}

TEST_F(DeviceLaunchRanksTest, StepsBehindOneThatDivergedChangeNothing) {
  RunRanks(2, [&](RankGroup& group) {
    DeviceLog log;
    NcclRank rank(group, Options(3), log);
    Begin(rank, 3, /*diverges=*/1);
    ASSERT_OK(rank.backend().Finish().status());
    EXPECT_THAT(rank.backend().Finish(),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("diverged")));
    EXPECT_EQ(rank.backend().steps(), 1u);
    ASSERT_OK_AND_ASSIGN(const TrainState state, rank.backend().ReadState());
    ASSERT_OK(rank.backend().SetState(state));
    Begin(rank, 1);  // Training works again.
    EXPECT_OK(rank.backend().Finish().status());
    EXPECT_THAT(log.problems, IsEmpty());
  });
}

TEST_F(DeviceLaunchRanksTest, AStepBegunBehindOneThatDivergedChangesNothingAndRanksTalkOn) {
  RunRanks(2, [&](RankGroup& group) {
    DeviceLog log;
    NcclRank rank(group, Options(1), log);
    DeviceBackend& backend = rank.backend();
    Begin(rank, 1);
    ASSERT_OK(backend.Finish().status());
    ASSERT_OK_AND_ASSIGN(const TrainState before, backend.ReadState());
    Begin(rank, 1, /*diverges=*/0);
    Begin(rank, 1);
    EXPECT_THAT(backend.Finish(),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("diverged")));
    ASSERT_OK_AND_ASSIGN(const TrainState after, backend.ReadState());
    EXPECT_EQ(after.parameters, before.parameters);
    EXPECT_EQ(after.step, 1u);
    ASSERT_OK(backend.SetState(before));
    Begin(rank, 1);
    Begin(rank, 1);
    EXPECT_OK(backend.Finish().status());
    EXPECT_OK(backend.Finish().status());
    EXPECT_THAT(log.problems, IsEmpty());
  });
}

TEST_F(DeviceLaunchRanksTest, ATraceEndsBehindTheStepThatIsBegun) {
  RunRanks(2, [&](RankGroup& group) {
    DeviceLog log;
    NcclRank rank(group, Options(1), log);
    DeviceProfile profile(1, 2);
    rank.backend().set_device_profile(&profile);
    Begin(rank, 1);
    Begin(rank, 1);
    EXPECT_OK(rank.backend().Finish().status());
    EXPECT_OK(rank.backend().Finish().status());
    rank.backend().set_device_profile(nullptr);
    EXPECT_OK(rank.backend().ReadState().status());
    EXPECT_THAT(log.problems, IsEmpty());
  });
}

TEST_F(DeviceLaunchRanksTest, ALostRankEndsStepsThatAreBegun) {
  std::latch begun(1);
  RunRanks(2, [&](RankGroup& group) {
    DeviceLog log;
    NcclRank rank(group, Options(1), log);
    Begin(rank, 1);
    if (group.info().rank == 1) {
      begun.wait();
      group.Fail(absl::DataLossError("shard 7 is cut short"));
      EXPECT_FALSE(group.store()->WaitForLost(absl::Seconds(60)).ok());
      return;
    }
    Begin(rank, 1);
    begun.count_down();
    absl::Status status;  // May come from the first step, if rank 1 had not finished it.
    for (int step = 0; step < 2 && status.ok(); ++step) status = rank.backend().Finish().status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("shard 7 is cut")));
    EXPECT_THAT(rank.backend().ReadState(),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the state is lost")));
  });
}

TEST_F(DeviceLaunchRanksTest, AStepOfALaunchThatHangsIsNamed) {
  const NcclHang hang(2 * kBuckets + 2 * 3);
  NcclRankOptions options = Options(3);
  options.wrap = [&](std::unique_ptr<Device> device) -> std::unique_ptr<Device> {
    return std::make_unique<HastyDevice>(std::move(device), [&] { return hang.reached(); });
  };
  options.waits.timeout = absl::Seconds(10);
  options.waits.verdict_timeout = absl::Milliseconds(100);
  RunRanks(2, [&](RankGroup& group) {
    DeviceLog log;
    NcclRank rank(group, options, log);
    Begin(rank, 3);
    const absl::Status status = rank.backend().Finish().status();
    group.Fail(status);
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable,
                                 HasSubstr("gradients of step 1, bucket 3 of 5")));
  });
}

}  // namespace
}  // namespace penstock
