#include "trainer/app/stopper.h"

#include <memory>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using testing::HasSubstr;

// Has no batches; Next() blocks until the loader is closed.
class EmptyLoader final : public Loader {
 public:
  absl::StatusOr<bool> Next(Batch&) override {
    MutexLock lock(&mutex_);
    while (!closed_) changed_.Wait(&mutex_);
    return absl::CancelledError("closed");
  }
  absl::StatusOr<bool> Next(Batch& batch, absl::Duration) override { return Next(batch); }
  absl::StatusOr<bool> Take(Batch& batch) override { return Next(batch); }
  void NoteWaiting(uint64_t) override {}
  bool Ready() const override { return false; }
  void Close() override {
    MutexLock lock(&mutex_);
    closed_ = true;
    changed_.NotifyAll();
  }
  LoaderStats stats() const override { return {}; }
  uint64_t order_fingerprint() const override { return 0; }
  uint64_t steps_per_epoch() const override { return 1; }
  uint64_t steps_left() const override { return 1; }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

absl::Status Read(StoppableInput& input) {
  InputBatch batch;
  return input.Next(batch).status();
}

TEST(StopperTest, ALostRankEndsAWaitForABatchAndIsTheReason) {
  Stopper stopper;
  StoppableInput input(std::make_unique<EmptyLoader>(), stopper);
  std::jthread other([&] { stopper.Fail(absl::UnavailableError("rank 1 died")); });
  EXPECT_THAT(Read(input), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("rank 1 died")));
}

TEST(StopperTest, AnInputThatIsOpenedAfterALossEndsToo) {
  Stopper stopper;
  stopper.Fail(absl::UnavailableError("rank 1 died"));
  stopper.Fail(absl::UnavailableError("rank 2 died"));
  StoppableInput input(std::make_unique<EmptyLoader>(), stopper);
  EXPECT_THAT(Read(input), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("rank 1 died")));
}

TEST(StopperTest, AStopEndsAWaitForABatchAsCancelled) {
  Stopper stopper;
  StoppableInput input(std::make_unique<EmptyLoader>(), stopper);
  std::jthread other([&] { stopper.Stop(); });
  EXPECT_THAT(Read(input), StatusIs(absl::StatusCode::kCancelled, HasSubstr("closed")));
  EXPECT_TRUE(stopper.stopping());
}

}  // namespace
}  // namespace penstock
