#include "trainer/backend/cpu/bucket_thread.h"

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(BucketThreadTest, ABucketIsTakenUpWhileOthersAreUnfinished) {
  std::latch first{1};
  ASSERT_OK_AND_ASSIGN(const auto thread, BucketThread::Start([&](size_t bucket) {
                         if (bucket == 0) first.count_down();
                         return absl::OkStatus();
                       }));
  thread->Begin(/*buckets=*/2, /*parts=*/1);
  thread->Finish(0);
  first.wait();
  thread->Finish(1);
  EXPECT_OK(thread->Wait());
}

TEST(BucketThreadTest, EachBucketWaitsForAllPartsAndForThoseBefore) {
  constexpr size_t kBuckets = 50, kParts = 4;
  std::atomic<size_t> finished[kBuckets] = {};
  std::vector<size_t> taken;
  ASSERT_OK_AND_ASSIGN(const auto thread, BucketThread::Start([&](size_t bucket) {
                         EXPECT_EQ(finished[bucket], kParts);
                         taken.push_back(bucket);
                         return absl::OkStatus();
                       }));
  for (size_t round = 0; round < 3; ++round) {
    for (auto& count : finished) count = 0;
    taken.clear();
    thread->Begin(kBuckets, kParts);
    {
      std::vector<std::jthread> parts;
      for (size_t part = 0; part < kParts; ++part) {
        parts.emplace_back([&] {
          for (size_t bucket = 0; bucket < kBuckets; ++bucket) {
            ++finished[bucket];
            thread->Finish(bucket);
          }
        });
      }
    }
    EXPECT_OK(thread->Wait());
    ASSERT_EQ(taken.size(), kBuckets);
    for (size_t i = 0; i < kBuckets; ++i) EXPECT_EQ(taken[i], i);
  }
}

TEST(BucketThreadTest, AfterAnErrorNothingIsTakenUpUntilTheNextRound) {
  std::vector<size_t> taken;
  bool fails = true;
  ASSERT_OK_AND_ASSIGN(const auto thread, BucketThread::Start([&](size_t bucket) -> absl::Status {
                         taken.push_back(bucket);
                         if (fails && bucket == 1) return absl::UnavailableError("rank 3 died");
                         return absl::OkStatus();
                       }));
  auto round = [&] {
    thread->Begin(3, 1);
    for (size_t bucket = 0; bucket < 3; ++bucket) thread->Finish(bucket);
    return thread->Wait();
  };
  EXPECT_THAT(round(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("rank 3 died")));
  EXPECT_THAT(taken, ElementsAre(0, 1));
  fails = false;
  EXPECT_OK(round());
  EXPECT_THAT(taken, ElementsAre(0, 1, 0, 1, 2));
}

}  // namespace
}  // namespace penstock
