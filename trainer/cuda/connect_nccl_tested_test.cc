#include "trainer/cuda/connect_nccl_tested.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <latch>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/comm/testing/rank_threads.h"
#include "trainer/cuda/testing/host_stream.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

// Environment variables belong to the whole process: one test at a time, and set before its ranks
// start.
class ConnectNcclTestedTest : public testing::Test {
 protected:
  ConnectNcclTestedTest()
      : log_(absl::StrCat(testing::TempDir(), "/nccl_tested.", getpid(), ".log")) {
    setenv("PENSTOCK_CUDA_LIBS", PENSTOCK_FAKE_NCCL, 1);
    setenv("FAKE_NCCL_LOG", log_.c_str(), 1);
    options_.connect_timeout = absl::Seconds(2);
    options_.verdict_timeout = absl::Milliseconds(100);
  }
  ~ConnectNcclTestedTest() override {
    for (const char* name : {"FAKE_NCCL_LOG", "FAKE_NCCL_FAULT", "FAKE_NCCL_LAUNCH"}) {
      unsetenv(name);
    }
    std::filesystem::remove(log_);
  }

  using Body = std::function<void(RankGroup&, absl::StatusOr<std::unique_ptr<Communicator>>)>;
  void Run(uint32_t ranks, const Body& body) {
    RunRanks(ranks, [&](RankGroup& group) {
      HostStream stream;
      ASSERT_OK_AND_ASSIGN(const NcclLibrary nccl, NcclLibrary::Load());
      const NcclCallbacks callbacks{.on_blocking = [this](absl::string_view line) {
        MutexLock lock(&mutex_);
        told_.emplace_back(line);
      }};
      body(group,
           ConnectNcclTested(group.info(), *group.store(), nccl, stream, options_, callbacks));
    });
  }
  // The communicator works: every rank hears from every other.
  static void ExpectWorks(absl::StatusOr<std::unique_ptr<Communicator>>& made) {
    ASSERT_OK(made.status());
    std::vector<uint8_t> bytes((*made)->size(), uint8_t((*made)->rank() + 1));
    std::vector<std::span<uint8_t>> parts;
    for (uint8_t& byte : bytes) parts.push_back({&byte, 1});
    ASSERT_OK((*made)->AllGather(parts));
    for (size_t r = 0; r < bytes.size(); ++r) EXPECT_EQ(bytes[r], r + 1);
  }
  std::string Log() const {
    std::stringstream text;
    text << std::ifstream(log_).rdbuf();
    return text.str();
  }
  std::vector<std::string> told() {
    MutexLock lock(&mutex_);
    return told_;
  }

  WaitOptions options_;
  const std::string log_;

 private:
  Mutex mutex_;
  std::vector<std::string> told_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(ConnectNcclTestedTest, ANcclThatWorksInGraphsDoesNotBlock) {
  Run(3, [](RankGroup&, auto made) { ExpectWorks(made); });
  EXPECT_THAT(Log(), AllOf(Not(HasSubstr("blocking")), Not(HasSubstr("abort"))));
  EXPECT_THAT(told(), SizeIs(0));
}

TEST_F(ConnectNcclTestedTest, ANcclThatLaunchesFromAnotherThreadIsWaitedFor) {
  setenv("FAKE_NCCL_LAUNCH", "thread", 1);
  Run(3, [](RankGroup&, auto made) { ExpectWorks(made); });
  EXPECT_THAT(Log(), Not(HasSubstr("blocking")));
}

TEST_F(ConnectNcclTestedTest, AnErrorOfOneRankInAGraphMakesAllBlock) {
  setenv("FAKE_NCCL_FAULT", "1 post-error 0", 1);
  Run(3, [](RankGroup&, auto made) { ExpectWorks(made); });
  for (const char* rank : {"0", "1", "2"}) {
    EXPECT_THAT(Log(), AllOf(HasSubstr(absl::StrCat(rank, " abort")),
                             HasSubstr(absl::StrCat(rank, " init 3 blocking"))));
  }
  EXPECT_THAT(told(), AllOf(SizeIs(3), Each(AllOf(HasSubstr("NCCL 2.18.0 cannot exchange within a "
                                                            "graph without blocking (rank "),
                                                  HasSubstr("its calls block")))));
}

TEST_F(ConnectNcclTestedTest, AGraphThatIsNeverLaunchedMakesAllBlockInTime) {
  setenv("FAKE_NCCL_FAULT", "1 post-hang 0", 1);
  Run(2, [](RankGroup&, auto made) { ExpectWorks(made); });
  EXPECT_THAT(told(), Each(HasSubstr("did not finish within 2s")));
}

// The exchange hangs within the graph, on the device: the graph is in flight when NCCL is aborted.
TEST_F(ConnectNcclTestedTest, AGraphThatHangsIsAbortedInFlight) {
  setenv("FAKE_NCCL_FAULT", "1 hang 0", 1);
  Run(2, [](RankGroup& group, auto made) {
    group.Fail(made.status());
    // The fault is in the first group of both modes.
    EXPECT_THAT(made, StatusIs(absl::StatusCode::kUnavailable,
                               AllOf(HasSubstr("whether its calls block or not"),
                                     HasSubstr("did not finish within 2s"),
                                     HasSubstr("--no-graph trains without graphs"))));
  });
  EXPECT_THAT(Log(), AllOf(HasSubstr("0 abort"), HasSubstr("1 abort")));
}

TEST_F(ConnectNcclTestedTest, ARankThatIsLostMeanwhileEndsTheOthers) {
  Run(2, [](RankGroup& group, auto made) {
    if (group.info().rank == 1) return group.Fail(absl::DataLossError("shard 7 is cut short"));
    if (made.ok()) {  // Rank 1 left after the test.
      EXPECT_FALSE(group.store()->WaitForLost(absl::Seconds(60)).ok());
    } else {
      EXPECT_THAT(made, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("shard 7 is cut")));
    }
  });
}

class BlockingNcclTest : public ConnectNcclTestedTest {
 protected:
  void Connect(uint32_t ranks, const Body& body,
               const std::function<void(const absl::Status&)>& on_stuck = nullptr) {
    RunRanks(ranks, [&](RankGroup& group) {
      HostStream stream;
      ASSERT_OK_AND_ASSIGN(const NcclLibrary nccl, NcclLibrary::Load());
      body(group, ConnectNccl(group.info(), *group.store(), nccl, stream, options_,
                              {.blocking = true, .on_stuck = on_stuck}));
    });
  }
};

TEST_F(BlockingNcclTest, Exchanges) {
  Connect(3, [](RankGroup&, auto made) { ExpectWorks(made); });
  EXPECT_THAT(Log(), AllOf(HasSubstr("2 init 3 blocking"), HasSubstr("2 destroy")));
}

TEST_F(BlockingNcclTest, ACallThatBlocksEndsAfterItsTime) {
  setenv("FAKE_NCCL_FAULT", "1 block 0", 1);
  options_.timeout = absl::Seconds(1);
  Connect(2, [](RankGroup& group, auto made) {
    ASSERT_OK(made.status());
    const absl::Status status = (*made)->Barrier();
    group.Fail(status);
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("did not finish within 1s")));
    EXPECT_EQ((*made)->Barrier(), status);
  });
  EXPECT_THAT(Log(), HasSubstr("1 abort"));
}

TEST_F(BlockingNcclTest, ALostRankEndsACallThatBlocks) {
  setenv("FAKE_NCCL_FAULT", "1 block 0", 1);
  std::latch connected(2);
  Connect(2, [&](RankGroup& group, auto made) {
    connected.arrive_and_wait();
    ASSERT_OK(made.status());
    if (group.info().rank == 0) return group.Fail(absl::DataLossError("shard 7 is cut short"));
    EXPECT_THAT((*made)->Barrier(),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("shard 7 is cut")));
  });
}

// Nothing can end that call: here it returns by itself, later than it should.
TEST_F(BlockingNcclTest, AConnectionThatBlocksIsTold) {
  setenv("FAKE_NCCL_FAULT", "1 init-hang", 1);
  options_.connect_timeout = absl::Seconds(1);
  std::atomic<int> stuck = 0;
  Connect(
      2,
      [](RankGroup& group, auto made) {
        group.Fail(made.status());
        EXPECT_THAT(made, StatusIs(absl::StatusCode::kUnavailable,
                                   HasSubstr("connecting the GPUs of the ranks")));
      },
      [&](const absl::Status& why) {
        EXPECT_THAT(std::string(why.message()), HasSubstr("did not finish within 1s"));
        ++stuck;
      });
  EXPECT_GE(stuck, 1);
}

}  // namespace
}  // namespace penstock
