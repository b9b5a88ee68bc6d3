#include "base/bounded_queue.h"

#include <chrono>
#include <memory>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::Optional;

TEST(BoundedQueueTest, KeepsOrder) {
  BoundedQueue<int> queue(3);
  EXPECT_TRUE(queue.Push(1));
  EXPECT_TRUE(queue.Push(2));
  EXPECT_THAT(queue.Pop(), Optional(1));
  EXPECT_THAT(queue.Pop(), Optional(2));
}

TEST(BoundedQueueTest, DrainsAfterCloseThenEnds) {
  BoundedQueue<int> queue(2);
  queue.Push(7);
  queue.Close();
  EXPECT_THAT(queue.Pop(), Optional(7));
  EXPECT_EQ(queue.Pop(), std::nullopt);
  EXPECT_OK(queue.status());
}

TEST(BoundedQueueTest, CloseEndsABlockedPush) {
  BoundedQueue<int> queue(1);
  queue.Push(1);
  std::jthread closer([&] { queue.Close(absl::CancelledError("stop")); });
  EXPECT_FALSE(queue.Push(2));
}

TEST(BoundedQueueTest, CloseEndsABlockedPop) {
  BoundedQueue<int> queue(1);
  std::jthread closer([&] { queue.Close(); });
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(BoundedQueueTest, WaitsUntilThereIsSomethingToPop) {
  BoundedQueue<int> queue(1);
  const auto now = std::chrono::steady_clock::now();
  EXPECT_FALSE(queue.WaitUntil(now));
  std::jthread producer([&] { queue.Push(1); });
  EXPECT_TRUE(queue.WaitUntil(now + std::chrono::minutes(1)));
  EXPECT_THAT(queue.Pop(), Optional(1));
  EXPECT_FALSE(queue.WaitUntil(now));
  queue.Close();
  EXPECT_TRUE(queue.WaitUntil(now));
}

TEST(BoundedQueueTest, TheFirstCloseDecides) {
  BoundedQueue<int> queue(1);
  queue.Close(absl::DataLossError("first"));
  queue.Close(absl::InternalError("second"));
  EXPECT_THAT(queue.status(), StatusIs(absl::StatusCode::kDataLoss, "first"));
}

TEST(BoundedQueueTest, PassesMoveOnlyValuesBetweenThreads) {
  BoundedQueue<std::unique_ptr<int>> queue(2);
  std::jthread producer([&] {
    for (int i = 0; i < 1000; ++i) queue.Push(std::make_unique<int>(i));
    queue.Close();
  });
  int expected = 0;
  while (auto value = queue.Pop()) EXPECT_EQ(**value, expected++);
  EXPECT_EQ(expected, 1000);
}

}  // namespace
}  // namespace penstock
