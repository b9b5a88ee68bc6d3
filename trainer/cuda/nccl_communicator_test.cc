#include "trainer/cuda/nccl_communicator.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/comm/testing/rank_threads.h"
#include "trainer/cuda/cuda_libraries.h"
#include "trainer/cuda/testing/host_stream.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Environment variables belong to the whole process. Tests therefore run one at a time, and set the
// variables before their ranks start.
class NcclCommunicatorTest : public testing::Test {
 protected:
  NcclCommunicatorTest() : log_(absl::StrCat(testing::TempDir(), "/nccl_test.", getpid(), ".log")) {
    setenv("PENSTOCK_CUDA_LIBS", PENSTOCK_FAKE_NCCL, 1);
    setenv("FAKE_NCCL_LOG", log_.c_str(), 1);
  }
  ~NcclCommunicatorTest() override {
    for (const char* name : {"FAKE_NCCL_LOG", "FAKE_NCCL_FAULT", "FAKE_NCCL_VERSION"}) {
      unsetenv(name);
    }
    std::filesystem::remove(log_);
  }

  // Calls body(group, communicator) as every rank. A rank that does not connect fails its group.
  using Body = std::function<void(RankGroup&, absl::StatusOr<std::unique_ptr<Communicator>>)>;
  static void Run(uint32_t ranks, const Body& body, const WaitOptions& options = {}) {
    RunRanks(ranks, [&](RankGroup& group) {
      HostStream stream;
      ASSERT_OK_AND_ASSIGN(const NcclLibrary nccl, NcclLibrary::Load());
      body(group, ConnectNccl(group.info(), *group.store(), nccl, stream, options));
    });
  }

  // The calls of each rank, in order: the lines of the log without the rank.
  std::map<int, std::vector<std::string>> Calls() const {
    std::map<int, std::vector<std::string>> calls;
    std::ifstream file(log_);
    for (std::string line; std::getline(file, line);) {
      const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(' ', 1));
      int rank = -1;
      EXPECT_TRUE(absl::SimpleAtoi(parts[0], &rank)) << line;
      calls[rank].push_back(parts[1]);
    }
    return calls;
  }

  std::string log_;
};

TEST_F(NcclCommunicatorTest, AnExchangeIsOneGroupAndEmptyMessagesStayAtHome) {
  Run(2, [](RankGroup&, absl::StatusOr<std::unique_ptr<Communicator>> made) {
    ASSERT_OK(made);
    Communicator& ranks = **made;
    EXPECT_EQ(ranks.memory(), Communicator::Memory::kDevice);
    std::vector<uint8_t> own(8, uint8_t(ranks.rank())), theirs(8);
    const size_t other = 1 - ranks.rank();
    const Communicator::Outgoing out[] = {{other, own}, {other, {}}};
    const Communicator::Incoming in[] = {{other, theirs}, {other, {}}};
    ASSERT_OK(ranks.Exchange(out, in));
    EXPECT_THAT(theirs, Each(uint8_t(other)));
  });
  const auto calls = Calls();
  EXPECT_THAT(calls.at(0),
              ElementsAre("id", "init 2", "recv 1 8", "send 1 8", "group", "finalize", "destroy"));
  EXPECT_THAT(calls.at(1),
              ElementsAre("init 2", "recv 0 8", "send 0 8", "group", "finalize", "destroy"));
}

// An error that NCCL reports by itself ends its rank, and then the others.
TEST_F(NcclCommunicatorTest, AnAsynchronousErrorEndsAllAndIsNamed) {
  setenv("FAKE_NCCL_FAULT", "1 error 3", 1);
  WaitOptions options;
  options.verdict_timeout = absl::Milliseconds(100);
  Run(
      3,
      [](RankGroup& group, absl::StatusOr<std::unique_ptr<Communicator>> made) {
        ASSERT_OK(made);
        absl::Status status;
        while (status.ok()) status = (*made)->Barrier();
        group.Fail(status);
        EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("NCCL 2.18.0")));
        EXPECT_EQ((*made)->Barrier(), status);
      },
      options);
  for (const auto& [rank, calls] : Calls()) EXPECT_EQ(calls.back(), "abort") << rank;
}

// A rank ends while the others wait in NCCL: the store reports it, and NCCL is aborted.
TEST_F(NcclCommunicatorTest, ALostRankAbortsTheOthers) {
  Run(3, [](RankGroup& group, absl::StatusOr<std::unique_ptr<Communicator>> made) {
    ASSERT_OK(made);
    if (group.info().rank == 1) {
      ASSERT_OK((*made)->Barrier());
      group.Fail(absl::DataLossError("shard 7 is cut short"));
      // The connections stay open, so only the store reports the loss.
      EXPECT_FALSE(group.store()->WaitForLost(absl::Seconds(60)).ok());
      return;
    }
    absl::Status status;  // May come from the first barrier, if rank 1 left before it.
    while (status.ok()) status = (*made)->Barrier();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable,
                                 AllOf(HasSubstr("rank 1 (pid "), HasSubstr("shard 7 is cut"))));
  });
  EXPECT_EQ(Calls().at(0).back(), "abort");
  EXPECT_EQ(Calls().at(2).back(), "abort");
}

// Rank 1's device hangs in an exchange with the others.
TEST_F(NcclCommunicatorTest, AHangEndsAfterItsTimeAndIsToldOfBefore) {
  setenv("FAKE_NCCL_FAULT", "1 hang 0", 1);
  Mutex mutex;
  std::vector<std::string> told;
  WaitOptions options;
  options.timeout = absl::Seconds(10);
  options.verdict_timeout = absl::Milliseconds(100);
  options.late_after = absl::Milliseconds(200);
  options.report = [&](absl::string_view line) {
    MutexLock lock(&mutex);
    told.emplace_back(line);
  };
  Run(
      2,
      [](RankGroup& group, absl::StatusOr<std::unique_ptr<Communicator>> made) {
        ASSERT_OK(made);
        (*made)->Mark(6, 2);
        const absl::Status status = (*made)->Barrier();
        group.Fail(status);
        EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable,
                                     HasSubstr("did not finish within 10s")));
      },
      options);
  MutexLock lock(&mutex);
  EXPECT_THAT(told,
              testing::Contains(HasSubstr(
                  "all ranks wait for each other at step 6, bucket 2: a device or the network")));
}

// The queued work takes longer than the timeout and than `late_after`, but makes progress. The
// timeout restarts at each place. A machine that stalls too long is detected, and the test is
// skipped.
TEST_F(NcclCommunicatorTest, OnlyTimeWithoutProgressCounts) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kTime{3};
  Mutex mutex;
  std::vector<std::string> told;
  std::atomic<bool> stalled = false;
  WaitOptions options;
  options.timeout = absl::Seconds(2);
  options.late_after = absl::Seconds(2);
  options.report = [&](absl::string_view line) {
    MutexLock lock(&mutex);
    told.emplace_back(line);
  };
  Run(
      2,
      [&](RankGroup&, absl::StatusOr<std::unique_ptr<Communicator>> made) {
        ASSERT_OK(made);
        const auto begin = Clock::now();
        auto last = begin;
        uint64_t step = 0;
        auto look = [&]() -> absl::StatusOr<Communicator::Queued> {
          const auto now = Clock::now();
          if (now - last > std::chrono::seconds(1)) stalled = true;
          last = now;
          return Communicator::Queued{now - begin > kTime, Communicator::Queued::Place{++step, 0}};
        };
        const absl::Status status = (*made)->AwaitQueued(look);
        if (!stalled) {
          EXPECT_OK(status);
        }
      },
      options);
  MutexLock lock(&mutex);
  if (stalled) GTEST_SKIP() << "this machine stalled for a second";
  EXPECT_THAT(told, IsEmpty());
}

// Rank 1 never reports a place, so it does not begin to wait.
TEST_F(NcclCommunicatorTest, WhatDoesNotGetOnEndsAfterItsTime) {
  WaitOptions options;
  options.timeout = absl::Milliseconds(500);
  options.verdict_timeout = absl::Milliseconds(100);
  Run(
      2,
      [](RankGroup& group, absl::StatusOr<std::unique_ptr<Communicator>> made) {
        ASSERT_OK(made);
        ASSERT_OK(group.communicator().Barrier());
        Communicator::Queued queued;
        if (group.info().rank == 0) queued.place = {.step = 7, .bucket = 3};
        const absl::Status status =
            (*made)->AwaitQueued([&]() -> absl::StatusOr<Communicator::Queued> { return queued; });
        EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable,
                                     HasSubstr("did not finish within 500ms")));
      },
      options);
}

TEST_F(NcclCommunicatorTest, ARankThatDoesNotConnectEndsAllInTime) {
  setenv("FAKE_NCCL_FAULT", "1 init-hang", 1);
  WaitOptions options;
  options.connect_timeout = absl::Seconds(3);
  options.verdict_timeout = absl::Milliseconds(100);
  Run(
      2,
      [](RankGroup& group, absl::StatusOr<std::unique_ptr<Communicator>> made) {
        group.Fail(made.status());
        EXPECT_THAT(made, StatusIs(absl::StatusCode::kUnavailable,
                                   AllOf(HasSubstr("connecting the GPUs of the ranks"),
                                         HasSubstr("within 3s"))));
      },
      options);
}

TEST_F(NcclCommunicatorTest, AnErrorWhileConnectingIsNcclsOwn) {
  setenv("FAKE_NCCL_FAULT", "0 init-error", 1);
  WaitOptions options;
  options.verdict_timeout = absl::Milliseconds(100);
  Run(
      2,
      [](RankGroup& group, absl::StatusOr<std::unique_ptr<Communicator>> made) {
        group.Fail(made.status());
        EXPECT_THAT(made, StatusIs(absl::StatusCode::kUnavailable,
                                   HasSubstr("NCCL 2.18.0: the last operation: unhandled system")));
      },
      options);
}

// A library with a file name that is unique on the machine.
LibrarySpec SpecOf(const std::string& file) {
  LibrarySpec spec = NcclSpec();
  spec.files = {file};
  return spec;
}

TEST_F(NcclCommunicatorTest, ALibraryThatIsTooOldIsNamed) {
  const std::string file = absl::StrCat("penstock_old_nccl.", getpid(), ".so.2");
  const std::string link = absl::StrCat(testing::TempDir(), "/", file);
  std::filesystem::create_symlink(absl::StrCat(PENSTOCK_FAKE_NCCL, "/libnccl.so.2"), link);
  setenv("FAKE_NCCL_VERSION", "21705", 1);
  EXPECT_THAT(NcclLibrary::LoadFrom(SpecOf(file), {testing::TempDir()}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("is too old: it has version 2.17.5"),
                             HasSubstr("2.18.0 or newer is needed"))));
  std::filesystem::remove(link);
}

TEST_F(NcclCommunicatorTest, AMissingLibraryIsNamedWithItsRemedy) {
  EXPECT_THAT(NcclLibrary::LoadFrom(SpecOf("penstock_no_nccl.so.2"), {testing::TempDir()}),
              StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("no penstock_no_nccl.so.2 in "),
                                                          HasSubstr("pip install nvidia-nccl"))));
}

}  // namespace
}  // namespace penstock
