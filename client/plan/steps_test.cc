#include "client/plan/steps.h"

#include <algorithm>
#include <random>
#include <vector>

#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Row numbers, counted over all epochs.
using RowNumbers = std::vector<uint64_t>;

struct Case {
  uint64_t epoch_rows;
  StepOptions options;
  EpochPosition start;
};

Case RandomCase(std::mt19937_64& random) {
  auto below = [&](uint64_t n) { return random() % n; };
  Case c;
  c.epoch_rows = 1 + below(200);
  c.options.remainder = static_cast<Remainder>(below(3));
  const bool is_short = c.options.remainder == Remainder::kShort;
  c.options.global_batch_size = 1 + below(1 + below(is_short ? 300 : c.epoch_rows));
  c.options.epochs = 1 + below(4);
  c.start = {below(c.options.epochs), below(c.epoch_rows + 1)};
  return c;
}

Steps MakeSteps(const Case& c) {
  absl::StatusOr<Steps> steps = Steps::Create(c.epoch_rows, c.options, c.start);
  EXPECT_OK(steps);
  return *std::move(steps);
}

RowNumbers RankRows(const Case& c, const Step& step) {
  RowNumbers rows;
  for (const RowRange& range : step.ranges()) {
    for (uint64_t i = 0; i < range.rows; ++i) {
      rows.push_back(range.epoch * c.epoch_rows + range.position + i);
    }
  }
  return rows;
}

RowNumbers RankRows(Case c, uint64_t step, uint32_t rank, uint32_t world_size) {
  c.options.rank = rank;
  c.options.world_size = world_size;
  return RankRows(c, MakeSteps(c).At(step));
}

// Builds every step's rows as docs/concepts/order.md defines them, one row at a time.
std::vector<RowNumbers> StepsByDefinition(const Case& c) {
  std::vector<RowNumbers> steps;
  RowNumbers step;
  auto flush = [&] {
    if (!step.empty()) steps.push_back(step);
    step.clear();
  };
  uint64_t row = c.start.epoch * c.epoch_rows + c.start.position;
  for (; row < c.options.epochs * c.epoch_rows; ++row) {
    step.push_back(row);
    if (step.size() == c.options.global_batch_size) flush();
    const bool ends_epoch = (row + 1) % c.epoch_rows == 0;
    if (ends_epoch && c.options.remainder == Remainder::kShort) flush();
    if (ends_epoch && c.options.remainder == Remainder::kDrop) step.clear();
  }
  flush();
  return steps;
}

TEST(StepsPropertyTest, StepsFollowTheDefinitionOfEveryRemainder) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 5000; ++trial) {
    const Case c = RandomCase(random);
    const Steps steps = MakeSteps(c);
    std::vector<RowNumbers> actual;
    for (uint64_t i = 0; i < steps.num_steps(); ++i) actual.push_back(RankRows(c, steps.At(i)));
    ASSERT_EQ(actual, StepsByDefinition(c)) << "trial " << trial;
  }
}

TEST(StepsPropertyTest, TheLastStepOfAnEpochIsTheOneBeforeTheNextEpochs) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 300; ++i) {
    const Case c = RandomCase(random);
    const Steps steps = MakeSteps(c);
    for (uint64_t k = 0; k < steps.num_steps(); ++k) {
      const bool last =
          k + 1 == steps.num_steps() || steps.At(k + 1).begin.epoch != steps.At(k).begin.epoch;
      EXPECT_EQ(steps.At(k).last_of_epoch, last) << "step " << k;
    }
  }
}

TEST(StepsPropertyTest, RankSlicesMakeUpTheGlobalBatch) {
  std::mt19937_64 random(2);
  for (int trial = 0; trial < 5000; ++trial) {
    Case c = RandomCase(random);
    const Steps steps = MakeSteps(c);
    if (steps.num_steps() == 0) continue;
    const uint64_t i = random() % steps.num_steps();
    c.options.world_size = 1 + static_cast<uint32_t>(random() % c.options.global_batch_size);
    RowNumbers joined;
    for (uint32_t rank = 0; rank < c.options.world_size; ++rank) {
      c.options.rank = rank;
      const Steps slice = MakeSteps(c);
      const Step step = slice.At(i);
      ASSERT_EQ(step.first_row, joined.size());
      ASSERT_LE(step.rank_rows, slice.max_rank_rows());
      const RowNumbers rows = RankRows(c, step);
      ASSERT_EQ(step.rank_rows, rows.size());
      joined.insert(joined.end(), rows.begin(), rows.end());
    }
    ASSERT_EQ(joined, RankRows(c, steps.At(i))) << "trial " << trial;
  }
}

TEST(StepsPropertyTest, ResumingAfterAnyStepContinuesIdentically) {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 5000; ++trial) {
    Case c = RandomCase(random);
    const Steps steps = MakeSteps(c);
    if (steps.num_steps() == 0) continue;
    const uint64_t taken = random() % steps.num_steps() + 1;
    c.start = steps.At(taken - 1).end;
    ASSERT_LT(c.start.position, c.epoch_rows);
    const Steps rest = MakeSteps(c);
    ASSERT_EQ(rest.num_steps(), steps.num_steps() - taken) << "trial " << trial;
    for (uint64_t i = 0; i < rest.num_steps(); ++i) {
      ASSERT_EQ(RankRows(c, rest.At(i)), RankRows(c, steps.At(taken + i))) << "trial " << trial;
    }
  }
}

TEST(StepsPropertyTest, RanksMayChangeBetweenAnyTwoSteps) {
  std::mt19937_64 random(4);
  for (int trial = 0; trial < 1000; ++trial) {
    const Case c = RandomCase(random);
    std::vector<RowNumbers> actual;
    Case now = c;
    while (MakeSteps(now).num_steps() > 0) {
      const uint32_t ranks = 1 + static_cast<uint32_t>(random() % c.options.global_batch_size);
      RowNumbers step;
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        const RowNumbers rows = RankRows(now, 0, rank, ranks);
        step.insert(step.end(), rows.begin(), rows.end());
      }
      actual.push_back(step);
      now.start = MakeSteps(now).At(0).end;
    }
    ASSERT_EQ(actual, StepsByDefinition(c)) << "trial " << trial;
  }
}

TEST(StepsTest, CarryCrossesIntoTheNextEpoch) {
  const Case c = {10, {.global_batch_size = 4, .remainder = Remainder::kCarry, .epochs = 2}, {}};
  const Step step = MakeSteps(c).At(2);
  EXPECT_THAT(step.ranges(), ElementsAre(RowRange{0, 8, 2}, RowRange{1, 0, 2}));
  EXPECT_EQ(step.end, (EpochPosition{1, 2}));
}

TEST(StepsTest, CarryEndsWithAShortStep) {
  const Case c = {10, {.global_batch_size = 8, .remainder = Remainder::kCarry, .epochs = 2}, {}};
  const Steps steps = MakeSteps(c);
  ASSERT_EQ(steps.num_steps(), 3u);
  EXPECT_THAT(steps.At(2).ranges(), ElementsAre(RowRange{1, 6, 4}));
  EXPECT_EQ(steps.At(2).end, (EpochPosition{2, 0}));
}

TEST(StepsTest, DropStopsWhereTheLastFullStepEndsSoThatSmallerBatchesCanGoOn) {
  Case c = {10, {.global_batch_size = 4, .epochs = 1}, {}};
  const Steps steps = MakeSteps(c);
  ASSERT_EQ(steps.num_steps(), 2u);
  c.start = steps.At(1).end;
  EXPECT_EQ(c.start, (EpochPosition{0, 8}));
  c.options.global_batch_size = 2;
  EXPECT_THAT(MakeSteps(c).At(0).ranges(), ElementsAre(RowRange{0, 8, 2}));
}

TEST(StepsTest, SomeRanksOfAShortStepHaveNoRows) {
  const Case c = {2, {.global_batch_size = 8, .remainder = Remainder::kShort}, {}};
  EXPECT_THAT(RankRows(c, 0, /*rank=*/0, /*world_size=*/4), ElementsAre());
  EXPECT_THAT(RankRows(c, 0, /*rank=*/1, /*world_size=*/4), ElementsAre(0));
  EXPECT_THAT(RankRows(c, 0, /*rank=*/3, /*world_size=*/4), ElementsAre(1));
}

TEST(StepsTest, ARankNeverHasMoreRowsThanItsPartOfABatchOrAnEpoch) {
  const auto most = [](uint64_t epoch_rows) {
    return MakeSteps({epoch_rows,
                      {.global_batch_size = 100, .remainder = Remainder::kShort, .world_size = 3},
                      {}})
        .max_rank_rows();
  };
  EXPECT_EQ(most(1000), 34u);
  EXPECT_EQ(most(30), 10u);
  EXPECT_EQ(most(31), 11u);
}

TEST(StepsTest, CountsStepsOfAnEpoch) {
  auto count = [](Remainder remainder) {
    return MakeSteps({10, {.global_batch_size = 4, .remainder = remainder}, {}}).steps_per_epoch();
  };
  EXPECT_EQ(count(Remainder::kDrop), 2u);
  EXPECT_EQ(count(Remainder::kShort), 3u);
  EXPECT_EQ(count(Remainder::kCarry), 3u);
}

TEST(StepsTest, GoesOnWithoutEnd) {
  for (Remainder remainder : {Remainder::kDrop, Remainder::kShort, Remainder::kCarry}) {
    const Steps steps =
        MakeSteps({1000, {.global_batch_size = 10, .remainder = remainder, .epochs = 0}, {3, 500}});
    EXPECT_EQ(steps.num_steps(), ~uint64_t{0});
    EXPECT_EQ(steps.At(1000000049).end, (EpochPosition{10000004, 0}));
  }
}

TEST(StepsTest, HoldsForNumbersNear64Bits) {
  const uint64_t rows = uint64_t{1} << 62;
  const uint64_t batch = (uint64_t{1} << 32) - 1;
  const uint64_t i = uint64_t{1} << 60;
  const Steps steps = MakeSteps({rows,
                                 {.global_batch_size = batch,
                                  .remainder = Remainder::kCarry,
                                  .epochs = 0,
                                  .rank = (1u << 31) - 1,
                                  .world_size = 1u << 31},
                                 {}});
  // 2^60 (2^32 - 1) = 2^62 (2^30 - 1) + 3 * 2^60.
  const Step step = steps.At(i);
  EXPECT_EQ(step.begin, (EpochPosition{(1u << 30) - 1, 3 * (uint64_t{1} << 60)}));
  EXPECT_EQ(step.first_row, batch - 2);
  EXPECT_EQ(step.rank_rows, 2u);
}

TEST(StepsTest, HasNoStepsAfterTheLastEpoch) {
  EXPECT_EQ(MakeSteps({10, {.global_batch_size = 4, .epochs = 2}, {2, 0}}).num_steps(), 0u);
}

TEST(StepsTest, RefusesAnEpochWithoutAFullStep) {
  for (Remainder remainder : {Remainder::kDrop, Remainder::kCarry}) {
    EXPECT_THAT(Steps::Create(9, {.global_batch_size = 10, .remainder = remainder}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("an epoch of 9 rows has no full step of 10 rows")));
  }
  EXPECT_OK(Steps::Create(9, {.global_batch_size = 10, .remainder = Remainder::kShort}));
}

TEST(StepsTest, RefusesMoreRanksThanRowsAndRanksOutOfRange) {
  EXPECT_THAT(Steps::Create(100, {.global_batch_size = 7, .rank = 0, .world_size = 8}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("batch of 7"), HasSubstr("8 ranks"))));
  EXPECT_THAT(Steps::Create(100, {.global_batch_size = 7, .rank = 2, .world_size = 2}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rank 2")));
  EXPECT_THAT(Steps::Create(100, {.global_batch_size = 0}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("batch of 0")));
}

TEST(StepsTest, RefusesAStartBeyondTheData) {
  const StepOptions options = {.global_batch_size = 4, .epochs = 2};
  for (EpochPosition start : {EpochPosition{0, 11}, EpochPosition{2, 1}, EpochPosition{3, 0}}) {
    EXPECT_THAT(Steps::Create(10, options, start),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("beyond")));
  }
}

TEST(StepsTest, AResumedRunCountsOn) {
  std::mt19937_64 random(6);
  for (int i = 0; i < 200; ++i) {
    Case c = RandomCase(random);
    c.start = {};
    const Steps whole = MakeSteps(c);
    EXPECT_EQ(whole.steps_before(), 0u);
    for (uint64_t step = 0; step < whole.num_steps(); ++step) {
      c.start = whole.At(step).end;
      ASSERT_EQ(MakeSteps(c).steps_before(), step + 1);
    }
  }
}

}  // namespace
}  // namespace penstock
