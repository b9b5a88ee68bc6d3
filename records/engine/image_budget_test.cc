#include "records/engine/image_budget.h"

#include <atomic>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

class ImageBudgetTest : public ::testing::Test {
 protected:
  std::atomic<uint64_t> held_ = 0;
  ImageBudget budget_{100 * kMiB, 16 * kMiB, [this](uint64_t bytes) { held_ += bytes; },
                      [this](uint64_t bytes) { held_ -= bytes; }};
};

TEST_F(ImageBudgetTest, SmallImagesAskForNothing) {
  auto lease = ImageMemoryLease::Take(&budget_, 16 * kMiB);
  ASSERT_THAT(lease, IsOk());
  EXPECT_EQ(budget_.taken_bytes(), 0u);
}

TEST_F(ImageBudgetTest, ALeaseIsReturned) {
  {
    auto lease = ImageMemoryLease::Take(&budget_, 60 * kMiB);
    ASSERT_THAT(lease, IsOk());
    const ImageMemoryLease moved = *std::move(lease);
    EXPECT_EQ(budget_.taken_bytes(), 60 * kMiB);
    EXPECT_EQ(held_, 60 * kMiB);
  }
  EXPECT_EQ(budget_.taken_bytes(), 0u);
  EXPECT_EQ(held_, 0u);
}

TEST_F(ImageBudgetTest, RefusesWhatNeverFits) {
  EXPECT_THAT(ImageMemoryLease::Take(&budget_, 101 * kMiB),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       ::testing::HasSubstr("this server has 100.0 MiB")));
  EXPECT_EQ(budget_.taken_bytes(), 0u);
}

TEST_F(ImageBudgetTest, AllThatFitGoOnWhenMemoryIsReturned) {
  ASSERT_THAT(budget_.Take(100 * kMiB), IsOk());
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([this] { EXPECT_THAT(budget_.Take(30 * kMiB), IsOk()); });
  }
  while (budget_.num_waiting() < 3) std::this_thread::yield();
  budget_.Return(100 * kMiB);
  threads.clear();
  EXPECT_EQ(budget_.taken_bytes(), 90 * kMiB);
}

TEST_F(ImageBudgetTest, ThreadsWaitForOneAnother) {
  std::atomic<uint64_t> decoding = 0;
  std::atomic<bool> exceeded = false;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, bytes = (20 + 10 * uint64_t(i)) * kMiB] {
      for (int image = 0; image < 200; ++image) {
        auto lease = ImageMemoryLease::Take(&budget_, bytes);
        if (!lease.ok() || (decoding += bytes) > 100 * kMiB) exceeded = true;
        decoding -= bytes;
      }
    });
  }
  threads.clear();
  EXPECT_FALSE(exceeded);
  EXPECT_EQ(budget_.taken_bytes(), 0u);
}

}  // namespace
}  // namespace penstock
