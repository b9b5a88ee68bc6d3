#include "base/io/receive_descriptor.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace penstock {
namespace {

class ReceiveDescriptorTest : public ::testing::Test {
 protected:
  ReceiveDescriptorTest() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    here_ = UniqueFd(ends[0]);
    there_ = UniqueFd(ends[1]);
  }

  void Send(const std::vector<int>& descriptors) const {
    char text[] = "abc";
    iovec part{text, 3};
    alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!descriptors.empty()) {
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
      std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size() * sizeof(int));
    }
    ASSERT_EQ(sendmsg(there_.get(), &message, 0), 3);
  }

  UniqueFd here_;
  UniqueFd there_;
  char bytes_[8] = {};
  UniqueFd descriptor_;
};

TEST_F(ReceiveDescriptorTest, OneThatComesIsTheCallers) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const UniqueFd reader(pipe_ends[0]);
  UniqueFd writer(pipe_ends[1]);
  Send({writer.get()});
  writer.Reset();
  ASSERT_EQ(ReceiveWithDescriptor(here_.get(), bytes_, 0, descriptor_), 3);
  EXPECT_STREQ(bytes_, "abc");
  ASSERT_TRUE(descriptor_.valid());
  EXPECT_NE(fcntl(descriptor_.get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(write(descriptor_.get(), "x", 1), 1);
}

TEST_F(ReceiveDescriptorTest, WithoutOneItStaysAsItIs) {
  descriptor_ = UniqueFd(dup(0));
  const int before = descriptor_.get();
  Send({});
  EXPECT_EQ(ReceiveWithDescriptor(here_.get(), bytes_, 0, descriptor_), 3);
  EXPECT_EQ(descriptor_.get(), before);
  EXPECT_EQ(ReceiveWithDescriptor(here_.get(), bytes_, MSG_DONTWAIT, descriptor_), -1);
}

TEST_F(ReceiveDescriptorTest, SeveralAreClosed) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const UniqueFd reader(pipe_ends[0]);
  UniqueFd writer(pipe_ends[1]);
  Send({writer.get(), writer.get()});
  writer.Reset();
  EXPECT_EQ(ReceiveWithDescriptor(here_.get(), bytes_, 0, descriptor_), 3);
  EXPECT_FALSE(descriptor_.valid());
  char byte = 0;
  EXPECT_EQ(read(reader.get(), &byte, 1), 0) << "a writer is still open";
}

}  // namespace
}  // namespace penstock
