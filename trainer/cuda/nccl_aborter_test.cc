#include "trainer/cuda/nccl_aborter.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

// A call that blocks until another thread ends it.
class BlockingCall {
 public:
  void End() { ended_ = true; }
  absl::Status Run() const {
    while (!ended_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return absl::InternalError("ended");
  }

 private:
  std::atomic<bool> ended_{false};
};

class NcclAborterTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(aborter_, NcclAborter::Start()); }

  std::unique_ptr<NcclAborter> aborter_;
  int ends_ = 0;  // Not atomic, so that TSan sees an `end` that nothing orders before its reader.
};

absl::Status AllIsWell() { return absl::OkStatus(); }

TEST_F(NcclAborterTest, ACallThatReturnsInTimeHasItsOwnResult) {
  for (const absl::Status& result : {absl::OkStatus(), absl::InternalError("refused")}) {
    EXPECT_EQ(aborter_->Guard(
                  AllIsWell, [this] { ++ends_; }, [&] { return result; }),
              result);
  }
  EXPECT_EQ(ends_, 0);
}

TEST_F(NcclAborterTest, ACallThatBlocksIsEndedOnceALookFails) {
  BlockingCall call;
  int looks = 0;
  const auto look = [&] {
    return ++looks < 3 ? absl::OkStatus() : absl::UnavailableError("rank 1 is lost");
  };
  const auto end = [&] {
    ++ends_;
    call.End();
  };
  EXPECT_THAT(aborter_->Guard(look, end, [&] { return call.Run(); }),
              StatusIs(absl::StatusCode::kUnavailable, "rank 1 is lost"));
  EXPECT_EQ(looks, 3);
  EXPECT_FALSE(aborter_->Abort([this] { ++ends_; })) << "it has ended the communicator already";
  aborter_->Join();
  EXPECT_EQ(ends_, 1);
}

TEST_F(NcclAborterTest, AnAbortDoesNotWait) {
  BlockingCall call;
  EXPECT_TRUE(aborter_->Abort([&] {
    (void)call.Run();
    ++ends_;
  }));
  call.End();
  aborter_->Join();
  EXPECT_EQ(ends_, 1);
}

TEST_F(NcclAborterTest, AnAbortFollowsCallsThatReturned) {
  EXPECT_OK(aborter_->Guard(
      AllIsWell, [this] { ++ends_; }, AllIsWell));
  EXPECT_TRUE(aborter_->Abort([this] { ends_ += 10; }));
  aborter_.reset();
  EXPECT_EQ(ends_, 10) << "the destructor waits for the abort";
}

}  // namespace
}  // namespace penstock
