#include "cli/terminal/close_on_interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "cli/terminal/interrupt.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/resource_limit.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

// Records only whether it was closed.
class ClosableLoader final : public Loader {
 public:
  absl::StatusOr<bool> Next(Batch&) override { return false; }
  absl::StatusOr<bool> Next(Batch& batch, absl::Duration) override { return Next(batch); }
  absl::StatusOr<bool> Take(Batch& batch) override { return Next(batch); }
  void NoteWaiting(uint64_t) override {}
  bool Ready() const override { return true; }
  void Close() override { closed = true; }
  LoaderStats stats() const override { return {}; }
  uint64_t order_fingerprint() const override { return 0; }
  uint64_t steps_per_epoch() const override { return 0; }
  uint64_t steps_left() const override { return 0; }

  std::atomic<bool> closed = false;
};

TEST(CloseOnInterruptTest, ASignalClosesTheLoader) {
  const InterruptGuard interrupts;
  ClosableLoader loader;
  ASSERT_OK_AND_ASSIGN(const auto close, CloseOnInterrupt::Start(loader));
  kill(getpid(), SIGTERM);
  while (!loader.closed) std::this_thread::yield();
}

TEST(CloseOnInterruptTest, WithoutASignalItEndsAndClosesNothing) {
  const InterruptGuard interrupts;
  ClosableLoader loader;
  CloseOnInterrupt::Start(loader).value().reset();
  EXPECT_FALSE(loader.closed);
}

// The object must not start, because its thread would wait for ever. The status is checked only
// once there are descriptors again, because UBSan needs some for that.
TEST(CloseOnInterruptTest, WithoutDescriptorsItDoesNotStart) {
  const InterruptGuard interrupts;
  ClosableLoader loader;
  absl::Status status;
  {
    const ResourceLimit descriptors(RLIMIT_NOFILE, 0);
    status = CloseOnInterrupt::Start(loader).status();
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("Ctrl-C")));
}

TEST(CloseOnInterruptTest, NorWhereNoSignalCouldWakeIt) {
  ClosableLoader loader;
  absl::Status status;
  {
    const ResourceLimit descriptors(RLIMIT_NOFILE, 0);
    const InterruptGuard interrupts;
    status = CloseOnInterrupt::Start(loader).status();
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("Ctrl-C")));
}

}  // namespace
}  // namespace penstock
