#include "cli/launch/line_output.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace penstock {
namespace {

class LineOutputTest : public testing::Test {
 protected:
  LineOutputTest() {
    signal(SIGPIPE, SIG_IGN);
    EXPECT_EQ(pipe2(pipe_, O_CLOEXEC), 0);
  }
  ~LineOutputTest() override {
    close(pipe_[1]);
    CloseReader();
  }
  void CloseReader() {
    if (pipe_[0] >= 0) close(pipe_[0]);
    pipe_[0] = -1;
  }
  bool IsReady() const {
    pollfd ready = {pipe_[1], POLLOUT, 0};
    return poll(&ready, 1, 0) > 0;
  }
  std::string Read() {
    char bytes[65536];
    const ssize_t count = read(pipe_[0], bytes, sizeof(bytes));
    return std::string(bytes, count > 0 ? static_cast<size_t>(count) : 0);
  }

  int pipe_[2];
};

TEST_F(LineOutputTest, ASlowReaderGetsEveryLineAndIsNeverWaitedFor) {
  LineOutput output(pipe_[1]);
  std::string expected, read;
  for (int i = 0; i < 300'000; ++i) {
    output.Add(std::to_string(i));
    expected += std::to_string(i) + "\n";
  }
  EXPECT_TRUE(output.full());
  while (!output.empty()) {
    while (!output.empty() && IsReady()) output.Write();
    read += Read();
  }
  while (read.size() < expected.size()) read += Read();
  EXPECT_EQ(read, expected);
  EXPECT_FALSE(output.full());
}

TEST_F(LineOutputTest, NothingIsKeptForAReaderThatIsGone) {
  LineOutput output(pipe_[1]);
  output.Add("one");
  CloseReader();
  output.Write();
  output.Add("two");
  EXPECT_TRUE(output.empty());
}

TEST_F(LineOutputTest, WhatIsForgottenIsNotWritten) {
  LineOutput output(pipe_[1]);
  output.Add("one");
  output.Clear();
  output.Add("two");
  output.Write();
  EXPECT_EQ(Read(), "two\n");
}

}  // namespace
}  // namespace penstock
