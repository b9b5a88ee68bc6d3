#include "trainer/input/diagnostic_input.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/input/board_reader.h"
#include "trainer/input/testing/memory_input.h"

namespace penstock {
namespace {

std::vector<uint8_t> BytesOf(const InputBatch& batch) {
  return {batch.tensors[0].bytes.begin(), batch.tensors[0].bytes.end()};
}

TEST(DiagnosticInputTest, ReplaysTheLastBatchesWithoutItsInput) {
  MemoryInput inner(/*records=*/64, /*batch_size=*/16);
  DiagnosticInput input(inner, {.normal_steps = 3, .memory_steps = 4, .keep = 2});
  std::vector<std::vector<uint8_t>> seen;
  InputBatch batch;
  for (int i = 0; i < 7; ++i) {
    EXPECT_THAT(input.Next(batch), IsOkAndHolds(true));
    seen.push_back(BytesOf(batch));
  }
  EXPECT_THAT(input.Next(batch), IsOkAndHolds(false));
  EXPECT_NE(seen[1], seen[2]);
  EXPECT_EQ(seen[3], seen[1]);
  EXPECT_EQ(seen[4], seen[2]);
  EXPECT_EQ(seen[5], seen[1]);
  EXPECT_THAT(inner.Next(batch), IsOkAndHolds(true));  // The inner input's fourth batch.
}

TEST(DiagnosticInputTest, MadeUpPlanesHaveTheShapesOfRealOnes) {
  MemoryInput inner(64, 16);
  DiagnosticInput input(inner, {.normal_steps = 1, .memory_steps = 1, .synthetic = true});
  InputBatch real, made;
  ASSERT_OK(input.Next(real));
  const std::vector<uint8_t> planes = BytesOf(real);
  ASSERT_OK(input.Next(made));
  EXPECT_EQ(made.rows, 16u);
  EXPECT_EQ(made.tensors[0].bytes.size(), planes.size());
  EXPECT_NE(BytesOf(made), planes);
  EXPECT_OK(BoardReader().Read(made));
}

}  // namespace
}  // namespace penstock
