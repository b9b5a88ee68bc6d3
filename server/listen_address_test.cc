#include "server/listen_address.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/io/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/listener.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Listens on a free port of 127.0.0.1.
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
  for (const char* text :
       {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "example.com:1", "127.example.com:1"}) {
    EXPECT_FALSE(ParseListenAddress(text)->IsLoopback()) << text;
  }
}

bool OverlapWhenParsed(const char* a, const char* b) {
  return Overlap(*ParseListenAddress(a), *ParseListenAddress(b)) &&
         Overlap(*ParseListenAddress(b), *ParseListenAddress(a));
}

TEST(ListenAddressTest, KnowsWhichCannotBothBeHad) {
  EXPECT_TRUE(OverlapWhenParsed("127.0.0.1:70", "127.0.0.1:70"));
  EXPECT_TRUE(OverlapWhenParsed("127.0.0.1:70", "0.0.0.0:70"));
  EXPECT_TRUE(OverlapWhenParsed("[::]:70", "0.0.0.0:70"));
  EXPECT_TRUE(OverlapWhenParsed("[::]:70", "node7:70"));
  EXPECT_TRUE(OverlapWhenParsed("localhost:70", "[::1]:70"));
  EXPECT_FALSE(OverlapWhenParsed("127.0.0.1:70", "127.0.0.1:71"));
  EXPECT_FALSE(OverlapWhenParsed("127.0.0.1:0", "127.0.0.1:0"));
  EXPECT_FALSE(OverlapWhenParsed("127.0.0.1:70", "127.0.0.2:70"));
  EXPECT_FALSE(OverlapWhenParsed("[::1]:70", "0.0.0.0:70"));
}

TEST(ListenAddressTest, NamesTheProcessThatHoldsThePort) {
  uint16_t port = 0;
  UniqueFd listener = ListenSomewhere(port);
  EXPECT_THAT(
      Listener::Bind({.host = "127.0.0.1", .port = port}),
      StatusIs(absl::StatusCode::kUnavailable,
               AllOf(HasSubstr(absl::StrCat("127.0.0.1:", port)),
                     HasSubstr(absl::StrCat("process ", getpid())), HasSubstr("another port"))));
}

TEST(ListenAddressTest, RefusesAnAddressOfAnotherMachine) {
  // 192.0.2.0/24 is reserved for documentation (RFC 5737).
  EXPECT_THAT(Listener::Bind({.host = "192.0.2.1", .port = 0}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("192.0.2.1")));
}

// A name with two dots in a row is invalid, so no name server is asked.
TEST(ListenAddressTest, RefusesAHostThatCannotBeResolved) {
  for (const absl::Status& status : {CheckListenHost({.host = "no..host", .port = 70}),
                                     Listener::Bind({.host = "no..host", .port = 70}).status()}) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                                 AllOf(HasSubstr("no..host:70"), HasSubstr("cannot be resolved"))));
  }
  EXPECT_OK(CheckListenHost({.host = "0.0.0.0", .port = 70}));
}

TEST(ListenAddressTest, AFreePortIsFine) {
  EXPECT_OK(Listener::Bind({.host = "127.0.0.1", .port = 0}));
}

// The resolved addresses of a host: 127.0.0.3, where no other test listens, 127.0.0.3 again, and
// `last`, all with `port`.
class SomeAddresses {
 public:
  SomeAddresses(const char* last, uint16_t port) {
    for (size_t i = 0; i < 3; ++i) {
      sockets_[i].sin_family = AF_INET;
      sockets_[i].sin_port = htons(port);
      inet_pton(AF_INET, i < 2 ? "127.0.0.3" : last, &sockets_[i].sin_addr);
      entries_[i].ai_family = AF_INET;
      entries_[i].ai_addr = reinterpret_cast<sockaddr*>(&sockets_[i]);
      entries_[i].ai_addrlen = sizeof sockets_[i];
      entries_[i].ai_next = i < 2 ? &entries_[i + 1] : nullptr;
    }
  }
  const addrinfo* first() const { return entries_; }

 private:
  sockaddr_in sockets_[3] = {};
  addrinfo entries_[3] = {};
};

TEST(ListenAddressTest, AHostIsHeardAtAllOfItsAddressesOrNotAtAll) {
  uint16_t port = 0;
  UniqueFd taken = ListenSomewhere(port);
  taken.Reset();
  const SomeAddresses other("127.0.0.2", port);
  ASSERT_OK_AND_ASSIGN(auto listener, Listener::Bind({.host = "127.0.0.2", .port = port}));
  EXPECT_THAT(Listener::Bind({.host = "both", .port = port}, other.first()),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr(absl::StrCat("127.0.0.2:", port, ": the port is in use")),
                             HasSubstr(absl::StrCat("process ", getpid())))));
  listener.reset();
  EXPECT_OK(Listener::Bind({.host = "both", .port = port}, other.first()));
}

TEST(ListenAddressTest, AnAddressThatThisMachineLacksIsLeftOut) {
  const SomeAddresses foreign("192.0.2.1", 0);
  EXPECT_OK(Listener::Bind({.host = "both", .port = 0}, foreign.first()));
}

TEST(ReachableAddressTest, NamesThisMachineForAllAddresses) {
  char name[256] = {};
  ASSERT_EQ(gethostname(name, sizeof name - 1), 0);
  EXPECT_EQ(ReachableAddress("0.0.0.0:70", ""), absl::StrCat(name, ":70"));
  EXPECT_EQ(ReachableAddress("[::]:70", ""), absl::StrCat(name, ":70"));
  EXPECT_EQ(ReachableAddress("127.0.0.1:70", ""), "127.0.0.1:70");
}

TEST(ReachableAddressTest, KnowsWhatIsAHost) {
  for (const char* host :
       {"node7", "node-7.example.com", "my_host", "10.0.0.7", "fd00::7", "[fd00::7]", "::1"}) {
    EXPECT_OK(CheckReachableHost(host)) << host;
  }
  for (const char* host : {"", "host:7070", "10.0.0.7:70", "[fd00::7]:70", "[fd00::7", "fd00::7]",
                           "[node7]", "my host", "x,y", "a/b", "-x", ".x", "a\nb", "x:y"}) {
    EXPECT_THAT(CheckReachableHost(host),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("without a port")))
        << host;
  }
}

TEST(ReachableAddressTest, TakesTheHostThatIsGiven) {
  EXPECT_EQ(ReachableAddress("0.0.0.0:70", "node7"), "node7:70");
  EXPECT_EQ(ReachableAddress("127.0.0.1:70", "fd00::1"), "[fd00::1]:70");
  EXPECT_EQ(ReachableAddress("127.0.0.1:70", "[fd00::1]"), "[fd00::1]:70");
}

}  // namespace
}  // namespace penstock
