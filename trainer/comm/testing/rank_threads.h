// Several ranks as threads of one process, for tests.
#ifndef PENSTOCK_TRAINER_COMM_TESTING_RANK_THREADS_H_
#define PENSTOCK_TRAINER_COMM_TESTING_RANK_THREADS_H_

#include <unistd.h>

#include <functional>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "trainer/comm/rank_group.h"

namespace penstock {

// A rank whose rendezvous is unique to this test.
inline RankInfo TestRank(uint32_t rank, uint32_t world_size) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  return {.source = "test",
          .rank = rank,
          .world_size = world_size,
          .local_rank = rank,
          .local_size = world_size,
          .rendezvous = absl::StrCat("unix-abstract:penstock-test-", getpid(), "-",
                                     test->test_suite_name(), "-", test->name()),
          .job = "test"};
}

// The default connection of test ranks: ConnectTcp(), unless a test program that runs the same
// tests over another transport has set it.
inline ConnectRanks& TestConnection() {
  static ConnectRanks connect;
  return connect;
}

// Calls body(group) as each rank of `world_size`, each on its own thread.
inline void RunRanks(uint32_t world_size, const std::function<void(RankGroup&)>& body,
                     RankGroupOptions options = {}) {
  if (!options.connect) options.connect = TestConnection();
  std::vector<std::jthread> threads;
  for (uint32_t rank = 0; rank < world_size; ++rank) {
    threads.emplace_back([&, info = TestRank(rank, world_size)] {
      auto group = RankGroup::Join(info, options);
      ASSERT_TRUE(group.ok()) << group.status();
      body(**group);
    });
  }
}

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_TESTING_RANK_THREADS_H_
