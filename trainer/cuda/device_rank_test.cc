// Ranks as threads, each with an emulated device.
#include <algorithm>
#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/backend/device/device_backend.h"
#include "trainer/backend/device/testing/checking_device.h"
#include "trainer/backend/device/testing/emulated_device.h"
#include "trainer/backend/testing/boards.h"
#include "trainer/backend/testing/images.h"
#include "trainer/backend/testing/reference_model.h"
#include "trainer/comm/gated_communicator.h"
#include "trainer/comm/gather.h"
#include "trainer/comm/testing/rank_threads.h"
#include "trainer/input/board_reader.h"
#include "trainer/input/testing/memory_input.h"
#include "trainer/loop/train_loop.h"

namespace penstock {
namespace {

// Emulated attention is fastest in bf16.
const ModelConfig kRankModel = SmallModel(/*dropout=*/0.2);

// Accepts spans of the emulated devices' memory, which is host memory.
class DeviceSpans final : public Communicator {
 public:
  explicit DeviceSpans(Communicator& inner) : inner_(inner) {}
  size_t rank() const override { return inner_.rank(); }
  size_t size() const override { return inner_.size(); }
  Memory memory() const override { return Memory::kDevice; }
  absl::Status Exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override {
    return inner_.Exchange(out, in);
  }

 private:
  Communicator& inner_;
};

struct RankOutcome {
  DeviceLog log;
  TrainState state;
  std::vector<double> losses;
};

// Trains two steps of 9 rows, so that 4 or 8 shards differ in size.
void TrainRank(Communicator& ranks, DeviceBackendOptions options, RankOutcome& outcome,
               std::unique_ptr<Communicator> gradient_ranks = nullptr) {
  options.ranks = &ranks;
  auto made = DeviceBackend::Create(
      kRankModel, options,
      std::make_unique<CheckingDevice>(std::make_unique<EmulatedDevice>(), outcome.log),
      std::move(gradient_ranks));
  ASSERT_OK(made.status());
  DeviceBackend& backend = **made;
  ASSERT_OK(backend.SetState(InitialState(backend.table())));
  for (size_t step = 0; step < 2; ++step) {
    const RandomBoards boards(9, step);
    const size_t first = FirstRowOf(ranks.rank(), ranks.size(), 9);
    const size_t last = FirstRowOf(ranks.rank() + 1, ranks.size(), 9);
    const auto result =
        backend.Step(boards.rows().Slice(first, last - first),
                     {.clip_norm = 0.1, .global_rows = 9, .random_key = 1000 + step});
    ASSERT_OK(result.status());
    outcome.losses.push_back(result->loss);
  }
  outcome.state = **backend.State();
}

enum class Spans { kHost, kDevice };

// Every rank has at least one shard.
size_t ShardsOf(uint32_t world_size) { return std::max<size_t>(4, world_size); }

std::vector<RankOutcome> Train(uint32_t world_size, Spans spans, bool fast = false,
                               WireFloat wire = WireFloat::kFp32) {
  const DeviceBackendOptions options{.shards = ShardsOf(world_size),
                                     .global_rows = 9,
                                     .bf16 = true,
                                     .fast_reduction = fast,
                                     .wire = wire};
  std::vector<RankOutcome> outcomes(world_size);
  RunRanks(world_size, [&](RankGroup& group) {
    std::unique_ptr<Communicator> device;
    if (spans == Spans::kDevice) device = std::make_unique<DeviceSpans>(group.communicator());
    TrainRank(group.communicator(), options, outcomes[group.info().rank], std::move(device));
  });
  return outcomes;
}

class DeviceRanksTest : public testing::TestWithParam<std::tuple<uint32_t, Spans>> {};

INSTANTIATE_TEST_SUITE_P(Ranks, DeviceRanksTest,
                         testing::Combine(testing::Values(2, 4, 8),
                                          testing::Values(Spans::kHost, Spans::kDevice)));

TEST_P(DeviceRanksTest, WorldSizeDoesNotChangeTheBits) {
  const auto [world_size, spans] = GetParam();
  RankOutcome alone;
  SingleCommunicator single;
  TrainRank(single, {.shards = ShardsOf(world_size), .global_rows = 9, .bf16 = true}, alone);
  ASSERT_EQ(alone.losses.size(), 2u);
  EXPECT_THAT(alone.log.problems, testing::IsEmpty());
  for (const RankOutcome& rank : Train(world_size, spans)) {
    EXPECT_EQ(rank.losses, alone.losses);
    EXPECT_EQ(rank.state.parameters, alone.state.parameters);
    EXPECT_EQ(rank.state.v, alone.state.v);
    if (spans == Spans::kHost) {
      EXPECT_THAT(rank.log.problems, testing::IsEmpty());
    }
  }
}

// Trains with the loop, which sends a rank's next batch while a step is computed. The last step has
// one row.
void TrainRankByLoop(Communicator& ranks, RankOutcome& outcome) {
  auto backend = DeviceBackend::Create(
      kRankModel, {.shards = 4, .global_rows = 6, .bf16 = true, .ranks = &ranks},
      std::make_unique<CheckingDevice>(std::make_unique<EmulatedDevice>(), outcome.log));
  ASSERT_OK(backend.status());
  ASSERT_OK((*backend)->SetState(InitialState((*backend)->table())));
  MemoryInput input(/*records=*/25, /*batch_size=*/6, /*seed=*/1, "", ranks.rank(), ranks.size());
  BoardReader reader;
  TrainLoopOptions options{.ranks = &ranks};
  options.on_step = [&](const StepReport& step) { outcome.losses.push_back(step.loss); };
  ASSERT_OK(TrainLoop(**backend, reader, input, {.model = kRankModel}, options).Run().status());
  outcome.state = **(*backend)->State();
}

TEST(DeviceRankLoopTest, RanksThatAreSentBatchesAheadTrainAsOne) {
  RankOutcome alone;
  SingleCommunicator single;
  TrainRankByLoop(single, alone);
  std::vector<RankOutcome> ranks(2);
  RunRanks(2, [&](RankGroup& group) {
    TrainRankByLoop(group.communicator(), ranks[group.info().rank]);
  });
  EXPECT_EQ(alone.losses.size(), 5u);
  EXPECT_THAT(alone.log.problems, testing::IsEmpty());
  for (const RankOutcome& rank : ranks) {
    EXPECT_EQ(rank.losses, alone.losses);
    EXPECT_EQ(rank.state.parameters, alone.state.parameters);
    EXPECT_THAT(rank.log.problems, testing::IsEmpty());
  }
}

// With --no-allreduce there are no exchanges. The ranks then differ, and training continues.
TEST(DeviceGatedRanksTest, RanksThatNoLongerTalkTrainOnWhatTheyHave) {
  const DeviceBackendOptions options{.shards = 4, .global_rows = 9, .bf16 = true};
  std::vector<RankOutcome> outcomes(2);
  RunRanks(2, [&](RankGroup& group) {
    GatedCommunicator host(group.communicator(), /*last=*/1);
    auto device = std::make_unique<GatedCommunicator>(
        std::make_unique<DeviceSpans>(group.communicator()), host.last());
    TrainRank(host, options, outcomes[group.info().rank], std::move(device));
  });
  const std::vector<RankOutcome> talking = Train(2, Spans::kDevice);
  ASSERT_EQ(outcomes[0].losses.size(), 2u);
  EXPECT_EQ(outcomes[0].losses[0], talking[0].losses[0]);
  EXPECT_NE(outcomes[0].state.parameters, outcomes[1].state.parameters);
  EXPECT_EQ(talking[0].state.parameters, talking[1].state.parameters);
}

TEST(DeviceFastRanksTest, ThreeRanksAgreeAndAreNearOne) {
  RankOutcome alone;
  SingleCommunicator single;
  TrainRank(single, {.shards = 4, .global_rows = 9, .bf16 = true}, alone);
  const std::vector<RankOutcome> ranks = Train(3, Spans::kHost, /*fast=*/true);
  for (const RankOutcome& rank : ranks) {
    ASSERT_EQ(rank.losses.size(), 2u);
    EXPECT_EQ(rank.state.parameters, ranks[0].state.parameters);
    EXPECT_NEAR(rank.losses[1], alone.losses[1], 1e-3);
  }
}

class DeviceImageRanksTest : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Models, DeviceImageRanksTest, testing::Bool(),
                         [](const auto& test) { return test.param ? "WithDropout" : "Pooled"; });

// Rank 0 has one of the 3 rows, and rank 1 has two. Together they drop the same values as a single
// rank.
TEST_P(DeviceImageRanksTest, UnevenRanksMatchTheReference) {
  constexpr uint64_t kKey = 0x9876543210fedcba;
  const ModelConfig config = GetParam() ? TinyVit() : TinyPooledVit();
  const RandomImages images(config, 3);
  ReferenceModel model(config, images.rows(), kKey);
  const double loss = model.Run();
  RunRanks(2, [&](RankGroup& group) {
    Communicator& ranks = group.communicator();
    const size_t first = FirstRowOf(ranks.rank(), 2, 3), count = 1 + ranks.rank();
    DeviceLog log;
    ASSERT_OK_AND_ASSIGN(auto backend,
                         DeviceBackend::Create(config,
                                               {.shards = 2,
                                                .global_rows = 3,
                                                .format = ImagesOf(config.side),
                                                .ranks = &ranks,
                                                .fast_reduction = true},
                                               std::make_unique<CheckingDevice>(
                                                   std::make_unique<EmulatedDevice>(), log)));
    ASSERT_OK(backend->SetState(InitialState(backend->table())));
    ASSERT_OK_AND_ASSIGN(
        const StepResult result,
        backend->Step(images.rows().Slice(first, count), {.global_rows = 3, .random_key = kKey}));
    EXPECT_NEAR(result.loss, loss, 2e-6);
    for (size_t i = 0; i < 2 * count; ++i) {
      EXPECT_NEAR(backend->predictions()[i], model.predictions[2 * first + i], 4e-6);
    }
    EXPECT_THAT(log.problems, testing::IsEmpty());
  });
}

class DeviceHalfRanksTest : public testing::TestWithParam<std::tuple<WireFloat, Spans>> {};

INSTANTIATE_TEST_SUITE_P(Wires, DeviceHalfRanksTest,
                         testing::Combine(testing::Values(WireFloat::kBf16, WireFloat::kFp16),
                                          testing::Values(Spans::kHost, Spans::kDevice)));

// Three ranks, so that slices and shards differ in size. An update is about as large as the
// learning rate for any gradient. Rounding therefore shows only in few parameters, whose gradient
// is nearly zero.
TEST_P(DeviceHalfRanksTest, RanksAgreeAndAreNearThoseThatSendAllBits) {
  const auto [wire, spans] = GetParam();
  const std::vector<RankOutcome> full = Train(3, spans, /*fast=*/true);
  const std::vector<RankOutcome> halves = Train(3, spans, /*fast=*/true, wire);
  ASSERT_EQ(halves[0].losses.size(), 2u);
  for (const RankOutcome& rank : halves) {
    EXPECT_EQ(rank.state.parameters, halves[0].state.parameters);
    EXPECT_EQ(rank.losses, halves[0].losses);
    if (spans == Spans::kHost) {
      EXPECT_THAT(rank.log.problems, testing::IsEmpty());
    }
  }
  EXPECT_EQ(halves[0].losses[0], full[0].losses[0]);
  EXPECT_NEAR(halves[0].losses[1], full[0].losses[1], 1e-2 * full[0].losses[1]);
  EXPECT_NE(halves[0].state.m, full[0].state.m);
  double error = 0, size = 0;
  for (size_t i = 0; i < full[0].state.m.size(); ++i) {
    error += std::pow(double(halves[0].state.m[i]) - double(full[0].state.m[i]), 2);
    size += std::pow(double(full[0].state.m[i]), 2);
  }
  // Values are rounded twice to 8 or 11 bits and averaged, and the parameters differ after the
  // first step.
  EXPECT_LT(std::sqrt(error / size), wire == WireFloat::kBf16 ? 0.03 : 0.02);
}

}  // namespace
}  // namespace penstock
