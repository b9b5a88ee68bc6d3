#include "server/listen_address.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/io/unique_fd.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A listener on a free port of 127.0.0.1.
UniqueFd ListenSomewhere(uint16_t& port) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(bind(fd.get(), generic, size), 0);
  EXPECT_EQ(listen(fd.get(), 1), 0);
  EXPECT_EQ(getsockname(fd.get(), generic, &size), 0);
  port = ntohs(address.sin_port);
  return fd;
}

TEST(ListenAddressTest, ReadsHostAndPort) {
  ASSERT_OK_AND_ASSIGN(ListenAddress address, ParseListenAddress("127.0.0.1:7070"));
  EXPECT_EQ(address.host, "127.0.0.1");
  EXPECT_EQ(address.port, 7070);
  ASSERT_OK_AND_ASSIGN(address, ParseListenAddress("[::1]:0"));
  EXPECT_EQ(address.host, "::1");
  EXPECT_EQ(address.port, 0);
}

TEST(ListenAddressTest, RefusesWhatIsNotHostAndPort) {
  for (const char* text : {"", ":", "7070", ":7070", "host:", "host:x", "host:65536", "host:-1",
                           "::1:80", "[]:80", "host: 80", "host:+80"}) {
    EXPECT_THAT(ParseListenAddress(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("HOST:PORT")))
        << text;
  }
}

TEST(ListenAddressTest, KnowsLoopback) {
  for (const char* text : {"127.0.0.1:1", "127.1.2.3:1", "localhost:1", "[::1]:1"}) {
    EXPECT_TRUE(ParseListenAddress(text)->IsLoopback()) << text;
  }
  for (const char* text : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "example.com:1"}) {
    EXPECT_FALSE(ParseListenAddress(text)->IsLoopback()) << text;
  }
}

TEST(ListenAddressTest, NamesTheProcessThatHoldsThePort) {
  uint16_t port = 0;
  UniqueFd listener = ListenSomewhere(port);
  EXPECT_THAT(
      ProbeListenAddress({.host = "127.0.0.1", .port = port}),
      StatusIs(absl::StatusCode::kUnavailable,
               AllOf(HasSubstr(absl::StrCat("127.0.0.1:", port)),
                     HasSubstr(absl::StrCat("process ", getpid())), HasSubstr("another port"))));
}

TEST(ListenAddressTest, RefusesAnAddressOfAnotherMachine) {
  // 192.0.2.0/24 is reserved for documentation (RFC 5737).
  EXPECT_THAT(ProbeListenAddress({.host = "192.0.2.1", .port = 0}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("192.0.2.1")));
}

// Two dots are no name, so that no name server is asked.
TEST(ListenAddressTest, RefusesAHostThatCannotBeResolved) {
  for (const absl::Status& status : {CheckListenHost({.host = "no..host", .port = 70}),
                                     ProbeListenAddress({.host = "no..host", .port = 70})}) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                                 AllOf(HasSubstr("no..host:70"), HasSubstr("cannot be resolved"))));
  }
  EXPECT_OK(CheckListenHost({.host = "0.0.0.0", .port = 70}));
}

TEST(ListenAddressTest, AFreePortIsFine) {
  EXPECT_OK(ProbeListenAddress({.host = "127.0.0.1", .port = 0}));
}

TEST(ReachableAddressTest, NamesThisMachineForAllAddresses) {
  char name[256] = {};
  ASSERT_EQ(gethostname(name, sizeof name - 1), 0);
  EXPECT_EQ(ReachableAddress("0.0.0.0:70", ""), absl::StrCat(name, ":70"));
  EXPECT_EQ(ReachableAddress("[::]:70", ""), absl::StrCat(name, ":70"));
  EXPECT_EQ(ReachableAddress("127.0.0.1:70", ""), "127.0.0.1:70");
}

TEST(ReachableAddressTest, TakesTheHostThatIsGiven) {
  EXPECT_EQ(ReachableAddress("0.0.0.0:70", "node7"), "node7:70");
  EXPECT_EQ(ReachableAddress("127.0.0.1:70", "fd00::1"), "[fd00::1]:70");
  EXPECT_EQ(ReachableAddress("127.0.0.1:70", "[fd00::1]"), "[fd00::1]:70");
}

}  // namespace
}  // namespace penstock
