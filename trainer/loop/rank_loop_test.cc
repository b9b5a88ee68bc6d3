// The training loop on several ranks, which are threads here.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"
#include "trainer/backend/cpu/cpu_backend.h"
#include "trainer/comm/gated_communicator.h"
#include "trainer/comm/testing/rank_threads.h"
#include "trainer/input/board_reader.h"
#include "trainer/input/testing/memory_input.h"
#include "trainer/loop/evaluate.h"
#include "trainer/loop/train_loop.h"
#include "trainer/model/initialize.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

// Has the attention bias, which is one more kind of gradient to merge.
const ModelConfig kModel{"small", 1, 32, 2, 32, /*attention_bias=*/true};

struct Outcome {
  absl::StatusOr<TrainSummary> summary = absl::UnknownError("not run");
  TrainState state;
  std::vector<double> losses;
};

using Adapt = std::function<void(size_t rank, TrainLoopOptions&)>;

class RankLoopTest : public testing::Test {
 protected:
  // One rank's training on 101 records in steps of 16 rows. The last step has 5 rows, for 8 shards.
  static Outcome TrainOne(Communicator& ranks, const Adapt& adapt = {},
                          CpuBackendOptions cpu = {}) {
    Outcome outcome;
    cpu.threads = 1;
    cpu.ranks = &ranks;
    auto backend = CpuBackend::Create(kModel, cpu).value();
    InitializeParameters(backend->table(), 5, backend->state().parameters);
    MemoryInput input(101, 16, /*seed=*/1, "", ranks.rank(), ranks.size());
    BoardReader reader;
    TrainLoopOptions options{.clip_norm = 0.1, .ranks = &ranks};
    options.open_holdout = [&]() -> absl::StatusOr<std::unique_ptr<Input>> {
      return std::make_unique<MemoryInput>(37, 16, 9, "", ranks.rank(), ranks.size());
    };
    options.on_step = [&](const StepReport& report) { outcome.losses.push_back(report.loss); };
    if (adapt) adapt(ranks.rank(), options);
    outcome.summary = TrainLoop(*backend, reader, input, {.model = kModel}, options).Run();
    outcome.state = backend->state();
    return outcome;
  }
  static std::vector<Outcome> Train(uint32_t world_size, const Adapt& adapt = {},
                                    const CpuBackendOptions& cpu = {}) {
    std::vector<Outcome> outcomes(world_size);
    RunRanks(world_size, [&](RankGroup& group) {
      Outcome& own = outcomes[group.info().rank];
      own = TrainOne(group.communicator(), adapt, cpu);
      if (!own.summary.ok()) group.Fail(own.summary.status());
    });
    return outcomes;
  }

  const TempFolder temp_;
  const std::string folder_ = temp_.File("checkpoints");
};

class RankBitsTest : public RankLoopTest, public testing::WithParamInterface<uint32_t> {};

INSTANTIATE_TEST_SUITE_P(Worlds, RankBitsTest, testing::Values(2, 4, 8));

TEST_P(RankBitsTest, EveryRankHasTheBitsOfOneRankAlone) {
  SingleCommunicator alone;
  const Outcome one = TrainOne(alone);
  ASSERT_OK(one.summary);
  for (const Outcome& rank : Train(GetParam())) {
    ASSERT_OK(rank.summary);
    EXPECT_EQ(rank.state.parameters, one.state.parameters);
    EXPECT_EQ(rank.state.m, one.state.m);
    EXPECT_EQ(rank.state.v, one.state.v);
    EXPECT_EQ(rank.losses, one.losses);
    EXPECT_EQ(rank.summary->rows, 101u);
    EXPECT_EQ(rank.summary->cursor, one.summary->cursor);
    ASSERT_TRUE(rank.summary->evaluation.has_value());
    EXPECT_EQ(rank.summary->evaluation->records, 37u);
    EXPECT_EQ(rank.summary->evaluation->loss, one.summary->evaluation->loss);
    EXPECT_EQ(rank.summary->evaluation->train_mean_loss, one.summary->evaluation->train_mean_loss);
  }
}

// Seven batches; the last one does not make a step of two.
TEST_P(RankBitsTest, AccumulatedBatchesHaveTheSameBitsToo) {
  const Adapt two = [](size_t, TrainLoopOptions& options) { options.accumulate = 2; };
  SingleCommunicator alone;
  const Outcome one = TrainOne(alone, two);
  ASSERT_OK(one.summary);
  for (const Outcome& rank : Train(GetParam(), two)) {
    ASSERT_OK(rank.summary);
    EXPECT_EQ(rank.state.parameters, one.state.parameters);
    EXPECT_EQ(rank.losses, one.losses);
    EXPECT_THAT(rank.losses, SizeIs(3));
    EXPECT_EQ(rank.summary->rows, 96u);
    EXPECT_EQ(rank.summary->cursor, "96");
  }
}

// Records the backend's exchanges between ranks, by their marks.
class MarkedCommunicator final : public Communicator {
 public:
  explicit MarkedCommunicator(Communicator& inner) : inner_(inner) {}

  size_t rank() const override { return inner_.rank(); }
  size_t size() const override { return inner_.size(); }
  void Mark(uint64_t step, uint32_t bucket) override {
    inner_.Mark(step, bucket);
    marks.emplace_back(step, bucket);
  }
  absl::Status Exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override {
    return inner_.Exchange(out, in);
  }

  std::vector<std::pair<uint64_t, uint32_t>> marks;

 private:
  Communicator& inner_;
};

// Also covers last steps with empty shards, and accumulated gradients.
TEST_F(RankLoopTest, BucketsChangeNoBit) {
  for (const bool fast : {false, true}) {
    for (const uint64_t batches : {1, 2}) {
      const Adapt adapt = [&](size_t, TrainLoopOptions& options) { options.accumulate = batches; };
      CpuBackendOptions cpu{.fast_reduction = fast, .bucket_floats = 0};
      const std::vector<Outcome> whole = Train(2, adapt, cpu);
      ASSERT_OK(whole[0].summary);
      for (const size_t floats : {1, 5000}) {
        cpu.bucket_floats = floats;
        for (const Outcome& rank : Train(2, adapt, cpu)) {
          ASSERT_OK(rank.summary);
          EXPECT_EQ(rank.state.parameters, whole[0].state.parameters);
          EXPECT_EQ(rank.losses, whole[0].losses);
        }
      }
    }
  }
}

TEST_F(RankLoopTest, EveryBucketOfEveryStepIsMarkedInOrder) {
  RunRanks(2, [&](RankGroup& group) {
    MarkedCommunicator ranks(group.communicator());
    const Adapt three = [](size_t, TrainLoopOptions& options) { options.total_steps = 3; };
    ASSERT_OK(TrainOne(ranks, three, {.bucket_floats = 5000}).summary);
    std::set<std::pair<uint64_t, uint32_t>> marked(ranks.marks.begin(), ranks.marks.end());
    const size_t buckets = marked.size() / 3;
    EXPECT_GE(buckets, 2u);
    EXPECT_TRUE(std::is_sorted(ranks.marks.begin(), ranks.marks.end()));
    for (uint64_t step = 0; step < 3; ++step) {
      for (uint32_t b = 0; b < buckets; ++b) EXPECT_TRUE(marked.contains({step, b}));
    }
  });
}

// Allows any number of ranks. The bits differ from one rank's, but are the same on all ranks.
TEST_F(RankLoopTest, FastReductionTrainsAlikeOnAllRanks) {
  SingleCommunicator alone;
  const Outcome one = TrainOne(alone);
  for (const WireFloat wire : {WireFloat::kFp32, WireFloat::kBf16, WireFloat::kFp16}) {
    const std::vector<Outcome> ranks = Train(3, {}, {.fast_reduction = true, .wire = wire});
    for (const Outcome& rank : ranks) {
      ASSERT_OK(rank.summary);
      EXPECT_EQ(rank.state.parameters, ranks[0].state.parameters);
    }
    // The tolerance is 1 %, because AdamW turns rounded gradients near zero into whole updates.
    EXPECT_NEAR(ranks[0].losses.back(), one.losses.back(), 0.01 * one.losses.back());
  }
}

TEST_F(RankLoopTest, OneRanksStopStopsAllAtTheSameStep) {
  std::atomic<bool> stop{false};
  const std::vector<Outcome> ranks = Train(4, [&](size_t rank, TrainLoopOptions& options) {
    if (rank != 2) return;
    options.on_step = [&](const StepReport& report) { stop = report.step == 3; };
    options.should_stop = [&] { return stop.load(); };
  });
  for (const Outcome& rank : ranks) {
    ASSERT_OK(rank.summary);
    EXPECT_TRUE(rank.summary->stopped);
    EXPECT_EQ(rank.summary->step, 3u);
    EXPECT_EQ(rank.summary->cursor, "48");
  }
}

TEST_F(RankLoopTest, RankZeroSavesForAll) {
  ASSERT_OK_AND_ASSIGN(const CheckpointFolder folder, CheckpointFolder::Open(folder_, 9));
  const std::vector<Outcome> ranks = Train(2, [&](size_t rank, TrainLoopOptions& options) {
    options.rank_0_saves = true;
    options.checkpoint_every = 3;
    options.checkpoints = rank == 0 ? &folder : nullptr;
  });
  for (const Outcome& rank : ranks) ASSERT_OK(rank.summary);
  EXPECT_THAT(folder.List(), IsOkAndHolds(SizeIs(3)));  // The checkpoints of steps 3, 6 and 7.
}

TEST_F(RankLoopTest, NoRankLeavesADivergenceBeforeAllHaveReportedIt) {
  std::atomic<size_t> reports = 0;
  const Adapt adapt = [&](size_t rank, TrainLoopOptions& options) {
    options.schedule.peak = 1e30;
    options.on_divergence = [&reports, rank](const Divergence&) {
      if (rank == 1) absl::SleepFor(absl::Milliseconds(50));
      ++reports;
      return "";
    };
  };
  RunRanks(2, [&](RankGroup& group) {
    const Outcome own = TrainOne(group.communicator(), adapt);
    EXPECT_EQ(reports, 2u) << group.info().rank;
    EXPECT_THAT(own.summary,
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("training diverged")));
    group.Fail(own.summary.status());
  });
}

// As with --no-allreduce, the other rank never reaches the meeting point.
TEST_F(RankLoopTest, ARankThatDivergesAloneEndsAlone) {
  RunRanks(2, [&](RankGroup& group) {
    const size_t rank = group.info().rank;
    GatedCommunicator gate(group.communicator(), /*last=*/1);
    auto backend = CpuBackend::Create(kModel, {.threads = 1, .ranks = &gate}).value();
    InitializeParameters(backend->table(), 5, backend->state().parameters);
    MemoryInput input(101, 16, /*seed=*/1, "", rank, 2);
    BoardReader reader;
    TrainLoopOptions options{.ranks = &group.communicator(), .ranks_differ = true};
    options.on_divergence = [](const Divergence&) { return "; listed"; };
    options.on_step = [&](const StepReport& step) {
      if (rank == 0 && step.step == 2) backend->state().parameters[3] = NAN;
    };
    const absl::Status status =
        TrainLoop(*backend, reader, input, {.model = kModel}, options).Run().status();
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr("; listed"), Not(HasSubstr("the exchange with"))));
    EXPECT_EQ(absl::StrContains(status.message(), "rank 0"), rank == 1);
    group.Fail(status);
  });
}

TEST_F(RankLoopTest, WeightsThatDifferAreNotSaved) {
  ASSERT_OK_AND_ASSIGN(const CheckpointFolder folder, CheckpointFolder::Open(folder_, 9));
  RunRanks(4, [&](RankGroup& group) {
    TrainState state(100);
    state.parameters[7] = group.info().rank == 2 ? 1.0f : 0.0f;
    EXPECT_THAT(CompareStates(group.communicator(), state),
                StatusIs(absl::StatusCode::kInternal, HasSubstr("the weights of rank 2 differ")));
  });
}

TEST_F(RankLoopTest, ARankWithoutHeldOutRecordsEndsAllWithItsReasonAndWhatWasTrained) {
  ASSERT_OK_AND_ASSIGN(const CheckpointFolder folder, CheckpointFolder::Open(folder_, 9));
  const std::vector<Outcome> ranks = Train(2, [&](size_t rank, TrainLoopOptions& options) {
    options.rank_0_saves = true;
    options.eval_every = 3;
    options.checkpoints = rank == 0 ? &folder : nullptr;
    if (rank != 1) return;
    options.open_holdout = []() -> absl::StatusOr<std::unique_ptr<Input>> {
      return absl::UnavailableError("no server for 30 s");
    };
  });
  for (const Outcome& rank : ranks) {
    EXPECT_THAT(rank.summary,
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no server for 30 s")));
  }
  EXPECT_THAT(folder.List(), IsOkAndHolds(ElementsAre(HasSubstr("step-000000003"))));
}

// Counts its batches; fails after `good` of them.
class CountedInput final : public MemoryInput {
 public:
  CountedInput(size_t records, size_t good, size_t rank = 0, size_t world_size = 1)
      : MemoryInput(records, 16, /*seed=*/1, "", rank, world_size), good_(good) {}

  absl::StatusOr<bool> Next(InputBatch& batch) override {
    if (batches_ == good_) return absl::DataLossError("chunk 3 is damaged");
    ++batches_;
    return MemoryInput::Next(batch);
  }
  size_t batches() const { return batches_; }

 private:
  const size_t good_;
  size_t batches_ = 0;
};

absl::StatusOr<Evaluation> EvaluateOwn(Communicator& ranks, Input& input) {
  CpuBackendOptions cpu;
  cpu.threads = 1;
  cpu.ranks = &ranks;
  auto backend = CpuBackend::Create(kModel, cpu).value();
  InitializeParameters(backend->table(), 5, backend->state().parameters);
  BoardReader reader;
  return EvaluateApart(*backend, reader, input, 0.5, {}, ranks);
}

// Returns the evaluation that a single rank would make of all ranks' records.
Evaluation AddedUp(std::span<const size_t> rank_records) {
  constexpr double kMean = 0.5;  // The same as in EvaluateOwn().
  Evaluation all;
  double scores = 0, squares = 0;
  for (const size_t records : rank_records) {
    if (records == 0) continue;
    SingleCommunicator alone;
    MemoryInput input(records, 16), again(records, records);
    const auto count = static_cast<double>(records);
    all.records += records;
    all.loss += count * EvaluateOwn(alone, input)->loss;
    InputBatch batch;
    EXPECT_OK(again.Next(batch));
    BoardReader reader;
    const float* targets = reader.Read(batch)->targets;
    for (size_t i = 0; i < records; ++i) {
      all.train_mean_loss += (targets[i] - kMean) * (targets[i] - kMean);
      scores += targets[i];
      squares += double{targets[i]} * targets[i];
    }
  }
  const auto count = static_cast<double>(all.records);
  all.loss /= count;
  all.train_mean_loss /= count;
  all.own_mean_loss = squares / count - scores / count * scores / count;
  return all;
}

TEST(EvaluateApartTest, RanksOfMoreAndFewerBatchesAddUpAll) {
  const std::vector<size_t> records = {70, 0, 16, 5};
  std::vector<Evaluation> results(4);
  RunRanks(4, [&](RankGroup& group) {
    const size_t rank = group.info().rank;
    MemoryInput input(records[rank], 16);
    results[rank] = EvaluateOwn(group.communicator(), input).value();
  });
  const Evaluation expected = AddedUp(records);
  for (const Evaluation& result : results) {
    EXPECT_EQ(result.records, 91u);
    EXPECT_EQ(result.loss, results[0].loss);
    EXPECT_NEAR(result.loss, expected.loss, 1e-9);
    EXPECT_NEAR(result.train_mean_loss, expected.train_mean_loss, 1e-9);
    EXPECT_NEAR(result.own_mean_loss, expected.own_mean_loss, 1e-9);
  }
}

// The parameter says whether the ranks evaluate together or apart.
class EvaluationTest : public testing::TestWithParam<bool> {
 protected:
  // Sets `together` if the evaluation failed on all ranks at the same batch.
  static absl::Status Evaluate(RankGroup& group, Input& input,
                               const std::function<bool()>& should_stop, bool& together) {
    CpuBackendOptions cpu;
    cpu.threads = 1;
    cpu.ranks = &group.communicator();
    auto backend = CpuBackend::Create(kModel, cpu).value();
    InitializeParameters(backend->table(), 5, backend->state().parameters);
    BoardReader reader;
    Communicator& ranks = group.communicator();
    if (GetParam()) {
      return EvaluateApart(*backend, reader, input, 0.5, should_stop, ranks, &together).status();
    }
    return penstock::Evaluate(*backend, reader, input, 0.5, should_stop, &ranks, &together)
        .status();
  }
};

INSTANTIATE_TEST_SUITE_P(Apart, EvaluationTest, testing::Bool());

TEST_P(EvaluationTest, OneRanksStopStopsAll) {
  RunRanks(2, [&](RankGroup& group) {
    MemoryInput input(160, 16, 1, "", group.info().rank, 2);
    bool together = false;
    int asked = 0;
    const auto stop = [&] { return group.info().rank == 1 && ++asked == 3; };
    EXPECT_THAT(Evaluate(group, input, stop, together),
                StatusIs(absl::StatusCode::kCancelled, HasSubstr("was stopped")));
    EXPECT_FALSE(together);
  });
}

TEST_P(EvaluationTest, OneRanksFailureIsThatOfAll) {
  RunRanks(2, [&](RankGroup& group) {
    // Ranks divide the batches, or each rank has its own.
    const size_t rank = group.info().rank;
    CountedInput input(160, rank == 1 ? 2 : 160, GetParam() ? 0 : rank, GetParam() ? 1 : 2);
    bool together = false;
    EXPECT_THAT(Evaluate(group, input, {}, together).message(), HasSubstr("chunk 3 is damaged"));
    EXPECT_TRUE(together);
  });
}

TEST(EvaluateApartTest, AFailureEndsAllAtTheSameBatch) {
  RunRanks(2, [&](RankGroup& group) {
    const bool fails = group.info().rank == 1;
    CountedInput input(1600, fails ? 2 : 1600);
    const auto result = EvaluateOwn(group.communicator(), input);
    EXPECT_THAT(result.status().message(), HasSubstr("chunk 3 is damaged"));
    EXPECT_EQ(input.batches(), fails ? 2u : 3u);
  });
}

TEST_F(RankLoopTest, RanksAtDifferentPlacesAreNamed) {
  RunRanks(2, [&](RankGroup& group) {
    Communicator& ranks = group.communicator();
    EXPECT_THAT(Agree(ranks, Intent::kGo, 64 * ranks.rank(), absl::OkStatus()),
                StatusIs(absl::StatusCode::kInternal,
                         HasSubstr("rank 0 is at position 0, but rank 1 at position 64")));
    // A longer reason is cut, between two characters.
    for (const size_t kept : {246, 245}) {
      const std::string why = std::string(kept, 'x') + (kept == 246 ? "xx" : "\u00e9x");
      const auto agreed = Agree(ranks, ranks.rank() == 1 ? Intent::kFailed : Intent::kGo, 0,
                                ranks.rank() == 1 ? absl::DataLossError(why) : absl::OkStatus());
      ASSERT_OK(agreed);
      EXPECT_EQ(agreed->intent, Intent::kFailed);
      EXPECT_EQ(agreed->why, "rank 1 failed: " + std::string(kept, 'x'));
    }
  });
}

}  // namespace
}  // namespace penstock
