#include "base/process/start_thread.h"

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

TEST(StartThreadTest, RunsWhatItIsGiven) {
  std::atomic<bool> ran{false};
  ASSERT_OK_AND_ASSIGN(std::jthread thread, StartThread("of a test", [&] { ran = true; }));
  thread.join();
  EXPECT_TRUE(ran);
}

TEST(StartThreadTest, LetsItBeStopped) {
  ASSERT_OK_AND_ASSIGN(std::jthread thread, StartThread("of a test", [](std::stop_token stop) {
                         while (!stop.stop_requested()) std::this_thread::yield();
                       }));
}

// The limit does not apply to root, so this test uses a user id that nothing else uses.
void ForbidThreads() {
  const rlimit none = {0, 0};
  if (setrlimit(RLIMIT_NPROC, &none) != 0) std::abort();
  if (getuid() == 0 && setuid(100'000 + static_cast<uid_t>(getpid())) != 0) std::abort();
}

TEST(StartThreadDeathTest, SaysWhatForAndWhatToRaise) {
  EXPECT_EXIT(
      {
        ForbidThreads();
        const absl::Status status = StartThread("that accepts connections", [] {}).status();
        std::fputs(status.ToString().c_str(), stderr);
        _exit(absl::IsResourceExhausted(status) ? 0 : 1);
      },
      testing::ExitedWithCode(0),
      "cannot start a thread that accepts connections: Resource temporarily unavailable; this "
      "process has [0-9]+ threads. Raise the limit of threads .ulimit -u, for all processes of "
      "this "
      "user: 0;");
}

TEST(StartThreadDeathTest, TellsThatGrpcWouldGetNone) {
  EXPECT_EXIT(
      {
        ForbidThreads();
        std::fputs(CheckThreadsOfGrpc().ToString().c_str(), stderr);
        _exit(0);
      },
      testing::ExitedWithCode(0),
      "gRPC may need [0-9]+ threads: cannot start a thread of gRPC: .*; pids.max, for all "
      "processes "
      "of the container: [a-z0-9]+. or of address space");
}

}  // namespace
}  // namespace penstock
