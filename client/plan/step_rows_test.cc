#include "client/plan/step_rows.h"

#include <random>

#include "client/plan/testing/plans.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

// The rows of every rank in every step, put together, are the epochs in the plan's order.
TEST(StepRowsTest, AreTheOrderOfThePlan) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 100; ++i) {
    const Plan plan = RandomPlan(random);
    std::vector<RowRef> expected;
    for (uint64_t epoch = 0; epoch < 2; ++epoch) {
      const std::vector<RowRef> records = Records(plan, epoch);
      expected.insert(expected.end(), records.begin(), records.end());
    }
    const uint32_t world_size = 1 + static_cast<uint32_t>(random() % 3);
    const uint64_t batch = world_size + random() % (plan.rows() + 1);
    std::vector<RowRef> found;
    for (uint64_t s = 0; found.size() + batch <= expected.size(); ++s) {
      for (uint32_t rank = 0; rank < world_size; ++rank) {
        const auto steps = Steps::Create(plan.rows(), {.global_batch_size = batch,
                                                       .remainder = Remainder::kCarry,
                                                       .epochs = 0,
                                                       .rank = rank,
                                                       .world_size = world_size});
        if (!steps.ok()) break;  // The batch is larger than the epoch.
        const Step step = steps->At(s);
        const std::vector<StepRow> rows = RowsOfStep(plan, step);
        ASSERT_EQ(rows.size(), step.rank_rows);
        for (size_t r = 0; r < rows.size(); ++r) {
          ASSERT_EQ(rows[r].row, step.first_row + r);
          ASSERT_EQ((rows[r].window.epoch * plan.rows() + rows[r].position), found.size());
          found.push_back(rows[r].record);
        }
      }
      if (found.empty()) break;
    }
    expected.resize(found.size());
    ASSERT_EQ(found, expected);
  }
}

}  // namespace
}  // namespace penstock
