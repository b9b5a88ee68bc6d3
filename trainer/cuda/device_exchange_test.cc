// Ranks that exchange gradients while they compute others. They are threads, each with an emulated
// device and the fake NCCL.
#include <atomic>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/backend/device/forwarding_device.h"
#include "trainer/backend/device/patient_device.h"
#include "trainer/backend/device/step_lists.h"
#include "trainer/backend/device/testing/paced_device.h"
#include "trainer/backend/testing/boards.h"
#include "trainer/comm/gather.h"
#include "trainer/comm/testing/rank_threads.h"
#include "trainer/cuda/testing/nccl_hang.h"
#include "trainer/cuda/testing/nccl_rank.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;

const ModelConfig kExchangeModel = SmallModel(/*dropout=*/0.2);
constexpr size_t kUnevenRows = 5;  // With this many rows, shards differ in size.
constexpr size_t kSteps = 4;       // Each of two slots runs once as a list and once as a graph.

struct ExchangeOutcome {
  DeviceLog log;
  TrainState state;
  std::vector<double> losses, norms;
};

DeviceBackendOptions BackendOptions() {
  return {.shards = 2, .global_rows = kUnevenRows, .bf16 = true, .bucket_floats = 700};
}

BatchRows RowsOf(const RandomBoards& boards, Communicator& ranks) {
  const size_t first = FirstRowOf(ranks.rank(), ranks.size(), kUnevenRows);
  const size_t last = FirstRowOf(ranks.rank() + 1, ranks.size(), kUnevenRows);
  return boards.rows().Slice(first, last - first);
}

// Runs a step of `accumulate` batches; returns the error of one of them.
absl::StatusOr<StepResult> RunStep(DeviceBackend& backend, Communicator& ranks, size_t step,
                                   size_t accumulate = 1) {
  UpdateOptions update{.clip_norm = 0.1, .global_rows = kUnevenRows, .batches = accumulate};
  for (size_t i = 1; i < accumulate; ++i) {
    const RandomBoards boards(kUnevenRows, 100 * step + i);
    update.random_key = 1000 * step + i;
    const auto loss = backend.Accumulate(RowsOf(boards, ranks), update);
    if (!loss.ok()) return loss.status();
  }
  const RandomBoards boards(kUnevenRows, 100 * step);
  update.random_key = 1000 * step;
  return backend.Step(RowsOf(boards, ranks), update);
}

void Train(DeviceBackend& backend, Communicator& ranks, size_t accumulate,
           ExchangeOutcome& outcome) {
  for (size_t step = 0; step < kSteps; ++step) {
    const auto result = RunStep(backend, ranks, step, accumulate);
    ASSERT_OK(result.status());
    outcome.losses.push_back(result->loss);
    outcome.norms.push_back(result->gradient_norm);
  }
  ASSERT_OK_AND_ASSIGN(outcome.state, backend.ReadState());
}

class DeviceExchangeTest : public testing::Test {
 protected:
  DeviceExchangeTest() { setenv("PENSTOCK_CUDA_LIBS", PENSTOCK_FAKE_NCCL, 1); }
  ~DeviceExchangeTest() override { unsetenv("FAKE_NCCL_FAULT"); }

  static NcclRankOptions Options() {
    return {.model = kExchangeModel, .backend = BackendOptions()};
  }

  // Exchanges with NCCL, during the computation.
  static std::vector<ExchangeOutcome> Overlapped(uint32_t world_size,
                                                 const NcclRankOptions& options,
                                                 size_t accumulate = 1) {
    std::vector<ExchangeOutcome> outcomes(world_size);
    RunRanks(world_size, [&](RankGroup& group) {
      ExchangeOutcome& outcome = outcomes[group.info().rank];
      NcclRankOptions own = options;
      if (own.seed.has_value()) *own.seed += group.info().rank;
      NcclRank rank(group, own, outcome.log);
      Train(rank.backend(), rank.ranks(), accumulate, outcome);
    });
    return outcomes;
  }

  // Exchanges through the host, after the computation.
  static std::vector<ExchangeOutcome> Behind(uint32_t world_size, DeviceBackendOptions options,
                                             size_t accumulate = 1) {
    std::vector<ExchangeOutcome> outcomes(world_size);
    RunRanks(world_size, [&](RankGroup& group) {
      DeviceBackendOptions own = options;
      own.ranks = &group.communicator();
      ASSERT_OK_AND_ASSIGN(auto backend, DeviceBackend::Create(kExchangeModel, own,
                                                               std::make_unique<EmulatedDevice>()));
      ASSERT_OK(backend->SetState(InitialState(backend->table())));
      Train(*backend, group.communicator(), accumulate, outcomes[group.info().rank]);
    });
    return outcomes;
  }

  static void ExpectSame(const std::vector<ExchangeOutcome>& a,
                         const std::vector<ExchangeOutcome>& b) {
    for (size_t rank = 0; rank < a.size(); ++rank) {
      ASSERT_EQ(a[rank].losses.size(), kSteps);
      EXPECT_THAT(a[rank].log.problems, IsEmpty());
      EXPECT_EQ(a[rank].losses, b[rank].losses);
      EXPECT_EQ(a[rank].norms, b[rank].norms);
      EXPECT_EQ(a[rank].state.parameters, b[rank].state.parameters);
      EXPECT_EQ(a[rank].state.v, b[rank].state.v);
    }
  }
};

struct Way {
  uint32_t ranks;
  bool fast;
  WireFloat wire;
  size_t shards;
  size_t accumulate;
  bool graphs;
  std::optional<uint64_t> seed;
};

class DeviceExchangeWaysTest : public DeviceExchangeTest,
                               public testing::WithParamInterface<Way> {};

INSTANTIATE_TEST_SUITE_P(Ways, DeviceExchangeWaysTest,
                         testing::Values(Way{3, true, WireFloat::kFp32, 3, 1, true, {}},
                                         Way{2, true, WireFloat::kFp32, 4, 2, true, 1},
                                         Way{2, true, WireFloat::kBf16, 2, 1, false, 20},
                                         Way{3, true, WireFloat::kFp16, 3, 2, true, 30},
                                         Way{2, false, WireFloat::kFp32, 4, 1, true, {}},
                                         Way{2, false, WireFloat::kFp32, 4, 1, false, 40},
                                         Way{4, false, WireFloat::kFp32, 4, 1, true, 50}));

TEST_P(DeviceExchangeWaysTest, GivesTheBitsOfAnExchangeBehindTheComputation) {
  const Way& way = GetParam();
  NcclRankOptions options = Options();
  options.backend.shards = way.shards;
  options.backend.fast_reduction = way.fast;
  options.backend.wire = way.wire;
  options.seed = way.seed;
  options.backend.graphs = way.graphs;
  ExpectSame(Overlapped(way.ranks, options, way.accumulate),
             Behind(way.ranks, options.backend, way.accumulate));
}

TEST_F(DeviceExchangeTest, EveryAllowedOrderGivesTheSameBits) {
  NcclRankOptions options = Options();
  options.backend.fast_reduction = true;
  const auto behind = Behind(2, options.backend);
  for (uint64_t seed = 0; seed < 6; ++seed) {
    options.seed = 10 * seed;
    options.backend.graphs = seed % 2 == 0;
    options.backend.bucket_floats = seed % 4 < 2 ? 700 : 1;
    ExpectSame(Overlapped(2, options), behind);
  }
}

size_t First(const std::vector<std::string>& ops, absl::string_view name) {
  return static_cast<size_t>(
      std::find_if(ops.begin(), ops.end(),
                   [&](const std::string& op) { return absl::StartsWith(op, name); }) -
      ops.begin());
}

size_t Count(const std::vector<std::string>& ops, absl::string_view name) {
  return static_cast<size_t>(std::count_if(
      ops.begin(), ops.end(), [&](const std::string& op) { return absl::StartsWith(op, name); }));
}

TEST_F(DeviceExchangeTest, TheFirstBucketTravelsBeforeTheLastGradientIsComputed) {
  for (const bool graphs : {false, true}) {
    NcclRankOptions options = Options();
    options.backend.graphs = graphs;
    const ExchangeOutcome outcome = std::move(Overlapped(2, options)[0]);
    EXPECT_EQ(outcome.log.launched_graphs, graphs ? 2u : 0u);
    // The operations of the last step in reverse order, from its own update back to the previous
    // one. They are a graph if graphs are enabled.
    std::vector<std::string> ops(outcome.log.ops.rbegin(), outcome.log.ops.rend());
    ops.resize(First({ops.begin() + 5, ops.end()}, "AdamW") + 5);
    EXPECT_LT(First(ops, "column sums"), First(ops, "mean backward"));
    size_t exchanges = 0, behind = 0;
    const size_t last = First(ops, "column sums");
    for (size_t i = 0; i < ops.size(); ++i) {
      if (!absl::StartsWith(ops[i], "exchange")) continue;
      ++exchanges;
      behind += i < last;
    }
    EXPECT_GE(exchanges, 6u);
    EXPECT_EQ(behind, 2u);  // These are the exchanges of the last bucket.
  }
}

TEST_F(DeviceExchangeTest, OnlyTheLastBatchOfAStepExchanges) {
  NcclRankOptions options = Options();
  const auto one = Overlapped(2, options, 1), three = Overlapped(2, options, 3);
  EXPECT_EQ(Count(three[0].log.ops, "exchange"), Count(one[0].log.ops, "exchange"));
  EXPECT_EQ(Count(three[0].log.ops, "score backward"), 3 * Count(one[0].log.ops, "score backward"));
}

// Skips the streams' waits for one event; host waits are unchanged.
class ForgetfulDevice final : public ForwardingDevice {
 public:
  ForgetfulDevice(std::unique_ptr<Device> device, DeviceEvent forgotten)
      : ForwardingDevice(std::move(device)), forgotten_(forgotten) {}
  absl::Status Wait(DeviceEvent event, DeviceQueue queue) override {
    return event == forgotten_ ? absl::OkStatus() : device().Wait(event, queue);
  }

 private:
  const DeviceEvent forgotten_;
};

// Without the first wait, an exchange does not wait for its gradients; without the second, the
// update does not wait for the exchanges.
class DeviceExchangeWaitTest : public DeviceExchangeTest,
                               public testing::WithParamInterface<DeviceEvent> {};

INSTANTIATE_TEST_SUITE_P(Events, DeviceExchangeWaitTest,
                         testing::Values(kBucketIsComputed, kBucketsAreExchanged));

TEST_P(DeviceExchangeWaitTest, AWaitThatIsLeftOutIsFoundAndChangesTheBits) {
  NcclRankOptions options = Options();
  options.backend.graphs = false;
  const auto right = Overlapped(2, options);
  options.wrap = [&](std::unique_ptr<Device> device) -> std::unique_ptr<Device> {
    return std::make_unique<ForgetfulDevice>(std::move(device), GetParam());
  };
  bool differs = false;
  for (uint64_t seed = 0; seed < 20 && !differs; ++seed) {
    options.seed = 10 * seed;
    std::vector<ExchangeOutcome> outcomes(2);
    RunRanks(2, [&](RankGroup& group) {
      ExchangeOutcome& outcome = outcomes[group.info().rank];
      NcclRank rank(group, options, outcome.log);
      // Results computed from garbage may be NaN, on both ranks or on one.
      (void)RunStep(rank.backend(), rank.ranks(), 0);
      if (const auto state = rank.backend().ReadState(); state.ok()) outcome.state = *state;
      EXPECT_THAT(outcome.log.problems, Contains(HasSubstr("are in no order")));
    });
    differs = outcomes[0].state.m != right[0].state.m;
  }
  EXPECT_TRUE(differs);
}

TEST_F(DeviceExchangeTest, ABucketThatHangsIsNamed) {
  const NcclHang hang(3);  // Each bucket has two groups.
  NcclRankOptions options = Options();
  options.wrap = [&](std::unique_ptr<Device> device) -> std::unique_ptr<Device> {
    return std::make_unique<HastyDevice>(std::move(device), [&] { return hang.reached(); });
  };
  options.waits.timeout = absl::Seconds(10);
  options.waits.verdict_timeout = absl::Milliseconds(100);
  std::vector<std::string> told(2);
  RunRanks(2, [&](RankGroup& group) {
    DeviceLog log;
    NcclRank rank(group, options, log);
    const absl::Status status = RunStep(rank.backend(), rank.ranks(), 0).status();
    group.Fail(status);
    told[group.info().rank] = std::string(status.message());
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable,
                                 HasSubstr("gradients of step 0, bucket 1 of ")));
    EXPECT_THAT(rank.backend().ReadState(),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the state is lost")));
  });
  // A rank may hear of the other's end before its own time-out.
  EXPECT_THAT(told, Contains(HasSubstr("did not finish within 10s")));
}

// Rank 1's device stands still until rank 0 has reported a rank that keeps it waiting in step 4.
// That step's graph is only launched.
TEST_F(DeviceExchangeTest, ARankWhoseDeviceIsSlowBeforeItsFirstBucketIsNamed) {
  std::atomic<bool> is_slow = false;
  Mutex mutex;
  std::string told;
  auto report = [&](absl::string_view line) {
    MutexLock lock(&mutex);
    const bool in_step = absl::StrContains(line, "wait at step 4") ||
                         absl::StrContains(line, "wait for each other at step 4");
    if (!in_step || !told.empty()) return;
    told = std::string(line);
    is_slow = false;
  };
  RunRanks(2, [&](RankGroup& group) {
    const bool slow = group.info().rank == 1;
    NcclRankOptions options = Options();
    options.waits.late_after = absl::Milliseconds(200);
    if (!slow) options.waits.report = report;
    options.wrap = [&](std::unique_ptr<Device> device) -> std::unique_ptr<Device> {
      return std::make_unique<StallingDevice>(std::move(device),
                                              [&, slow] { return slow && is_slow; });
    };
    DeviceLog log;
    NcclRank rank(group, options, log);
    for (size_t step = 0; step < 5; ++step) {
      if (slow && step == 4) is_slow = true;
      ASSERT_OK(RunStep(rank.backend(), rank.ranks(), step).status());
    }
  });
  EXPECT_THAT(told, MatchesRegex("rank 1 at step [34], bucket [0-9]+ is late: "
                                 "others wait at step 4, bucket 0 for 200ms .*"));
}

// NCCL's abort would wait for the device's references, including graphs, until the process ends
// (EndProcessWithin()). Here there are no graphs, and the device does continue.
TEST_F(DeviceExchangeTest, ARankWhoseDeviceHangsEndsAndTellsTheOtherWhy) {
  std::unique_ptr<Device> hung;  // The hung device is destroyed here.
  RunRanks(2, [&](RankGroup& group) {
    const bool hangs = group.info().rank == 1;
    std::atomic<bool> stalls = false;
    NcclRankOptions options = Options();
    options.backend.graphs = false;
    options.wrap = [&](std::unique_ptr<Device> device) -> std::unique_ptr<Device> {
      device = std::make_unique<StallingDevice>(std::move(device), [&] { return stalls.load(); });
      if (hangs) hung.reset(device.get());
      WaitOptions waits;
      waits.timeout = hangs ? absl::Seconds(1) : absl::Minutes(10);
      return std::make_unique<PatientDevice>(std::move(device), waits,
                                             [hangs](const absl::Status&) { EXPECT_TRUE(hangs); });
    };
    DeviceLog log;
    NcclRank rank(group, options, log);
    ASSERT_OK(RunStep(rank.backend(), rank.ranks(), 0).status());
    stalls = hangs;
    const absl::Status status = RunStep(rank.backend(), rank.ranks(), 1).status();
    group.Fail(status);
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable,
                                 HasSubstr("the GPU hangs: it has not finished its work")));
    if (!hangs) return;
    for (size_t i = 0; i < kDeviceQueues; ++i) {
      (void)hung->Synchronize(static_cast<DeviceQueue>(i));
    }
  });
}

TEST_F(DeviceExchangeTest, AnErrorOfNcclInAGraphNamesItsBucket) {
  size_t groups = 0;
  {
    DeviceLog log;
    groups = Count(Overlapped(2, Options())[0].log.ops, "exchange") / kSteps;
  }
  setenv("FAKE_NCCL_FAULT", absl::StrCat("1 error ", 2 * groups + 2).c_str(), 1);
  NcclRankOptions options = Options();
  options.waits.verdict_timeout = absl::Milliseconds(100);
  RunRanks(2, [&](RankGroup& group) {
    DeviceLog log;
    NcclRank rank(group, options, log);
    ASSERT_OK(RunStep(rank.backend(), rank.ranks(), 0).status());
    ASSERT_OK(RunStep(rank.backend(), rank.ranks(), 1).status());
    const absl::Status status = RunStep(rank.backend(), rank.ranks(), 2).status();
    group.Fail(status);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    if (group.info().rank == 0) return;  // Rank 0 may hear of it in an earlier bucket.
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("gradients of step 2, bucket 1 of "),
                                                     HasSubstr("NCCL 2.18.0: the last operation")));
  });
}

// The other rank's stream would wait for this one for ever.
TEST_F(DeviceExchangeTest, ALostRankEndsAStepThatIsQueued) {
  RunRanks(2, [&](RankGroup& group) {
    DeviceLog log;
    NcclRank rank(group, Options(), log);
    if (group.info().rank == 1) {
      ASSERT_OK(RunStep(rank.backend(), rank.ranks(), 0).status());
      group.Fail(absl::DataLossError("shard 7 is cut short"));
      EXPECT_FALSE(group.store()->WaitForLost(absl::Seconds(60)).ok());
      return;
    }
    absl::Status status;  // May come from the first step, if rank 1 was faster.
    for (size_t step = 0; status.ok(); ++step) {
      status = RunStep(rank.backend(), rank.ranks(), step).status();
    }
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable,
                                 AllOf(HasSubstr("rank 1 (pid "), HasSubstr("shard 7 is cut"))));
  });
}

TEST_F(DeviceExchangeTest, ATraceEndsThoughAnExchangeWaitsForALostRank) {
  RunRanks(2, [&](RankGroup& group) {
    DeviceLog log;
    NcclRank rank(group, Options(), log);
    if (group.info().rank == 1) {
      EXPECT_FALSE(group.store()->WaitForLost(absl::Seconds(60)).ok());
      return;
    }
    DeviceProfile profile(1, 2);
    rank.backend().set_device_profile(&profile);
    const RandomBoards boards(kUnevenRows, 0);
    ASSERT_OK(
        rank.backend().Stage(RowsOf(boards, rank.ranks()), {.global_rows = kUnevenRows}, true));
    ASSERT_OK(rank.backend().Begin());
    rank.backend().set_device_profile(nullptr);
    EXPECT_THAT(rank.backend().ReadState(),
                StatusIs(absl::StatusCode::kCancelled, HasSubstr("the state is lost")));
    group.Fail(absl::DataLossError("shard 7 is cut short"));
  });
}

TEST_F(DeviceExchangeTest, AStepThatDivergedChangesNothing) {
  RunRanks(2, [&](RankGroup& group) {
    DeviceLog log;
    NcclRank rank(group, Options(), log);
    DeviceBackend& backend = rank.backend();
    ASSERT_OK(RunStep(backend, rank.ranks(), 0).status());
    ASSERT_OK_AND_ASSIGN(const TrainState before, backend.ReadState());
    RandomBoards boards(kUnevenRows, 1);
    boards.scores[kUnevenRows - 1] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_THAT(backend.Step(RowsOf(boards, rank.ranks()), {.global_rows = kUnevenRows}),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("diverged")));
    EXPECT_EQ(backend.ReadState()->parameters, before.parameters);
    ASSERT_OK(backend.SetState(before));
    EXPECT_OK(RunStep(backend, rank.ranks(), 2).status());
    EXPECT_THAT(log.problems, IsEmpty());
  });
}

// With --no-allreduce, graphs that exchange are not launched any more.
TEST_F(DeviceExchangeTest, RanksThatNoLongerTalkTrainOnWhatTheyHave) {
  NcclRankOptions options = Options();
  options.last_talking_step = 2;
  const auto gated = Overlapped(2, options), talking = Overlapped(2, Options());
  EXPECT_EQ(gated[0].norms[1], talking[0].norms[1]);
  EXPECT_NE(gated[0].state.parameters, gated[1].state.parameters);
  EXPECT_EQ(talking[0].state.parameters, talking[1].state.parameters);
}

}  // namespace
}  // namespace penstock
