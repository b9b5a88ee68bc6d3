#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/backend/cpu/cpu_backend.h"
#include "trainer/backend/cpu/gemm_onednn.h"
#include "trainer/backend/testing/boards.h"

namespace penstock {
namespace {

using testing::HasSubstr;

const ModelConfig kModel{"small", 1, 32, 2, 32};

TEST(WithoutOneDnnTest, TheDefaultsPredict) {
  ASSERT_FALSE(HasOneDnn());
  const RandomBoards boards(3, /*seed=*/1);
  ASSERT_OK_AND_ASSIGN(const auto backend, CpuBackend::Create(kModel, {.threads = 1}));
  std::vector<float> scores(3, 7.0f);
  ASSERT_OK(backend->Predict({.format = kPackedBoards, .rows = 3, .input = boards.records.data()},
                             scores, 3));
  for (const float score : scores) EXPECT_LT(std::abs(score), 1);
}

TEST(WithoutOneDnnTest, ItsProductsAreRefused) {
  for (const GemmEngine engine : {GemmEngine::kOneDnn, GemmEngine::kOneDnnBf16}) {
    EXPECT_THAT(CpuBackend::Create(kModel, {.threads = 1, .gemm = engine}),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("--gemm openblas")));
  }
}

}  // namespace
}  // namespace penstock
