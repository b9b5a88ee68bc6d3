#include "server/guard/connection_guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/io/local_port.h"
#include "gtest/gtest.h"
#include "tests/reserved_port.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using std::chrono::milliseconds;

// Two ends of a connection over loopback.
struct Ends {
  UniqueFd client, server;
};

Ends Connect(const char* client_host = "127.0.0.1") {
  const ReservedPort port;
  EXPECT_EQ(listen(port.fd(), 1), 0);
  UniqueFd client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in from{};
  from.sin_family = AF_INET;
  inet_pton(AF_INET, client_host, &from.sin_addr);
  EXPECT_EQ(bind(client.get(), reinterpret_cast<sockaddr*>(&from), sizeof from), 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(LocalPort(port.fd()));
  EXPECT_EQ(connect(client.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  return {std::move(client), UniqueFd(accept(port.fd(), nullptr, nullptr))};
}

// A guard in front of a server that accepts connections and reads their bytes.
class ConnectionGuardTest : public ::testing::Test {
 protected:
  // The clients are in this process, so its memory does not indicate a flood. The guard sees the
  // memory that the test says.
  void Start(const GuardLimits& limits = {}) {
    ASSERT_OK_AND_ASSIGN(guard_, ConnectionGuard::Start(limits, [this] { return ReadMemory(); }));
    port_.emplace(*guard_);
  }
  // Makes the guard see at one look that memory has grown by 9 MiB, and waits for that look.
  void GrowMemoryForAMoment() {
    MutexLock lock(&mutex_);
    grown_looks_ = 1;
    while (grown_looks_ > 0) changed_.Wait(&mutex_);
  }
  // Waits until the guard has looked at all connections that sent something before.
  void AwaitLooks() {
    MutexLock lock(&mutex_);
    for (const int enough = looks_ + 3; looks_ < enough;) changed_.Wait(&mutex_);
  }
  uint64_t ReadMemory() {
    MutexLock lock(&mutex_);
    ++looks_;
    changed_.NotifyAll();
    if (grown_looks_ == 0) return kCalmMemory + allocated_;
    --grown_looks_;
    return kCalmMemory + allocated_ + (uint64_t{9} << 20);
  }
  ~ConnectionGuardTest() override {
    if (guard_ != nullptr) guard_->Close();
  }

  // Returns the client's end of a new connection.
  UniqueFd Enter(const char* client_host = "127.0.0.1") {
    Ends ends = Connect(client_host);
    peer_ = PeerNameOf(ends.server.get()).peer;
    port_->Enter(std::move(ends.server), [this](UniqueFd connection) {
      MutexLock lock(&mutex_);
      taken_.push_back(std::move(connection));
      changed_.NotifyAll();
    });
    return std::move(ends.client);
  }
  OpenCall BeginCall() { return port_->BeginCall(peer_); }

  size_t num_taken() {
    MutexLock lock(&mutex_);
    return taken_.size();
  }
  void AwaitTaken(size_t count) {
    MutexLock lock(&mutex_);
    while (taken_.size() < count) changed_.Wait(&mutex_);
  }
  void CloseOldest() {
    MutexLock lock(&mutex_);
    taken_.erase(taken_.begin());
  }

  // Sends `bytes` bytes. Returns false if the connection was reset.
  static bool Say(const UniqueFd& client, size_t bytes) {
    const std::string text(bytes, 'x');
    return send(client.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes);
  }
  // Waits until the connection is reset. Fails after a minute.
  static void AwaitReset(const UniqueFd& client) {
    const timeval patience{.tv_sec = 60, .tv_usec = 0};
    setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    char byte;
    EXPECT_LT(recv(client.get(), &byte, 1, 0), 1);
    EXPECT_EQ(errno, ECONNRESET);
  }
  // Reads what has arrived, as gRPC does.
  void ReadAll(size_t bytes) {
    MutexLock lock(&mutex_);
    std::string text(bytes, ' ');
    EXPECT_EQ(recv(taken_.back().get(), text.data(), bytes, MSG_WAITALL),
              static_cast<ssize_t>(bytes));
  }

  static constexpr uint64_t kCalmMemory = uint64_t{100} << 20;

  std::atomic<uint64_t> allocated_ = 0;  // Besides the calm memory.
  Mutex mutex_;
  CondVar changed_;
  int looks_ ABSL_GUARDED_BY(mutex_) = 0;  // Looks of the guard at the memory.
  int grown_looks_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<UniqueFd> taken_;
  std::string peer_;
  std::unique_ptr<ConnectionGuard> guard_;
  std::optional<GuardedPort> port_;
};

TEST_F(ConnectionGuardTest, AStrangerThatSendsTooMuchIsReset) {
  Start({.stranger_bytes = 100});
  const UniqueFd client = Enter();
  EXPECT_TRUE(Say(client, 10'000));
  AwaitReset(client);
  EXPECT_EQ(guard_->stats().cut, 1u);
}

TEST_F(ConnectionGuardTest, IfMemoryGrowsTheOneThatSentMostForNothingIsReset) {
  Start();
  const UniqueFd good = Enter(), bad = Enter();
  EXPECT_TRUE(Say(good, 3'000));
  EXPECT_TRUE(Say(bad, 60'000));
  allocated_ = uint64_t{100} << 20;
  AwaitReset(bad);
  EXPECT_TRUE(Say(good, 1));
  EXPECT_EQ(guard_->stats().cut, 1u);
}

TEST_F(ConnectionGuardTest, WhoeverServesTheConnectionIsTold) {
  Start({.stranger_bytes = 100});
  const UniqueFd client = Enter();
  EXPECT_TRUE(Say(client, 10'000));
  AwaitReset(client);
  char byte;
  EXPECT_EQ(recv(taken_[0].get(), &byte, 1, 0), -1) << "what was not read is dropped";
}

TEST_F(ConnectionGuardTest, OneWhoseMessagesAreUnderstoodStays) {
  Start({.stranger_bytes = 1000});
  const UniqueFd client = Enter();
  const OpenCall call = BeginCall();
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(Say(client, 500));
    ReadAll(500);
    call.account().OnMessage(500);
  }
  EXPECT_EQ(guard_->stats().cut, 0u);
  // The connection is still watched.
  EXPECT_TRUE(Say(client, 60'000));
  AwaitReset(client);
}

TEST_F(ConnectionGuardTest, CallsThatAreNotAnsweredAreLimited) {
  Start({.calls = 10, .calls_per_second = 0});
  const UniqueFd client = Enter();
  for (int i = 0; i < 11; ++i) BeginCall();
  EXPECT_TRUE(Say(client, 1));
  AwaitReset(client);
}

TEST_F(ConnectionGuardTest, CallsThatWaitForARequestAreLimited) {
  Start({.waiting_calls = 10});
  const UniqueFd client = Enter();
  std::vector<OpenCall> calls;
  for (int i = 0; i < 20; ++i) {
    BeginCall().OnRequest();
    calls.push_back(BeginCall());
    if (i < 5) calls.back().OnRequest();
    EXPECT_EQ(calls.back().account().reset(), i >= 15);
  }
  AwaitReset(client);
  while (guard_->stats().cut == 0) std::this_thread::yield();
}

TEST_F(ConnectionGuardTest, AMessageWithoutItsEndIsGivenUp) {
  Start({.stalled_seconds = 0.001});
  const UniqueFd client = Enter();
  EXPECT_TRUE(Say(client, 20'000));
  AwaitReset(client);
}

TEST_F(ConnectionGuardTest, TheLeastActiveOfAHostGivesWay) {
  Start({.strangers_of_host = 4, .known_of_host = 1, .invited_of_host = 2});
  std::vector<UniqueFd> clients;
  std::vector<OpenCall> calls;
  const auto come = [&](const char* host, Standing standing) {
    clients.push_back(Enter(host));
    AwaitTaken(clients.size());
    calls.push_back(BeginCall());
    calls.back().OnRequest();
    calls.back().account().Rise(standing);
    EXPECT_TRUE(Say(clients.back(), 1));  // Makes the guard look at it.
  };
  come("127.0.0.1", Standing::kKnown);
  come("127.0.0.1", Standing::kInvited);
  come("127.0.0.1", Standing::kClient);
  come("127.0.0.2", Standing::kKnown);
  come("127.0.0.1", Standing::kInvited);
  EXPECT_EQ(guard_->stats().displaced, 0u);
  come("127.0.0.1", Standing::kInvited);
  AwaitReset(clients[1]);
  come("127.0.0.1", Standing::kKnown);
  AwaitReset(clients[0]);
  EXPECT_EQ(guard_->stats().displaced, 2u);
  for (const size_t stays : {2, 3, 4, 5, 6}) EXPECT_TRUE(Say(clients[stays], 1)) << stays;
}

TEST_F(ConnectionGuardTest, TheLeastActiveOfAnotherHostStays) {
  Start({.known_of_host = 1});
  std::vector<UniqueFd> clients;
  std::vector<OpenCall> calls;
  for (const char* host : {"127.0.0.2", "127.0.0.1", "127.0.0.1"}) {
    clients.push_back(Enter(host));
    AwaitTaken(clients.size());
    calls.push_back(BeginCall());
    calls.back().OnRequest();
    calls.back().account().Rise(Standing::kKnown);
    EXPECT_TRUE(Say(clients.back(), 1));
    AwaitLooks();
  }
  AwaitReset(clients[1]);
  EXPECT_TRUE(Say(clients[0], 1));
  EXPECT_EQ(guard_->stats().displaced, 1u);
}

// A client's token lets it send much, but not while memory grows.
TEST_F(ConnectionGuardTest, WhileMemoryGrowsThoseThatSendMostAreReset) {
  Start({.stranger_bytes = 1 << 20, .strangers = 3, .strangers_of_host = 3});
  const UniqueFd good = Enter();
  const UniqueFd bad = Enter();
  EXPECT_TRUE(Say(good, 2'000));
  AwaitLooks();
  EXPECT_TRUE(Say(bad, 60'000));
  AwaitLooks();
  EXPECT_EQ(guard_->stats().cut, 0u);
  GrowMemoryForAMoment();
  AwaitReset(bad);
  AwaitLooks();
  EXPECT_EQ(guard_->stats().cut, 1u);
  EXPECT_TRUE(Say(good, 1));
}

// The blame of a closed connection does not pass to the others.
TEST_F(ConnectionGuardTest, BlameLeavesWithItsConnection) {
  for (const bool cut : {true, false}) {
    Start({.stranger_bytes = 1 << 20, .strangers = 9, .strangers_of_host = 9, .penalty = {}});
    UniqueFd gone = Enter();
    AwaitTaken(1);
    AwaitLooks();
    EXPECT_TRUE(Say(gone, 200'000));
    AwaitLooks();
    if (cut) GrowMemoryForAMoment();
    gone.Reset();
    CloseOldest();
    while (guard_->stats().open > 0) std::this_thread::yield();
    const UniqueFd worst = Enter();
    const UniqueFd next = Enter();
    EXPECT_TRUE(Say(worst, 44'000));
    EXPECT_TRUE(Say(next, 24'000));
    AwaitLooks();
    GrowMemoryForAMoment();  // Cuts half of all blame, which is that of `worst`.
    AwaitReset(worst);
    AwaitLooks();
    EXPECT_EQ(guard_->stats().cut, 1u + cut);
    guard_->Close();
    taken_.clear();
  }
}

TEST_F(ConnectionGuardTest, AfterACutItsHostHasOneStrangerAtATime) {
  Start({.stranger_bytes = 100,
         .strangers = 3,
         .strangers_of_host = 2,
         .patience = std::chrono::hours(1),
         .penalty = std::chrono::hours(1),
         .spacing = milliseconds(0)});
  const UniqueFd bad = Enter();
  EXPECT_TRUE(Say(bad, 10'000));
  AwaitReset(bad);
  CloseOldest();
  while (guard_->stats().open > 0) std::this_thread::yield();
  const UniqueFd first = Enter();
  AwaitTaken(1);
  const UniqueFd second = Enter();
  EXPECT_EQ(guard_->stats().waiting, 1u);
  const UniqueFd of_another_host = Enter("127.0.0.2");
  AwaitTaken(2);
  EXPECT_EQ(guard_->stats().waiting, 1u);
}

TEST_F(ConnectionGuardTest, ACutHarmsNoOtherConnection) {
  Start({.stranger_bytes = 100});
  const UniqueFd good = Enter();
  const UniqueFd bad = Enter();
  EXPECT_TRUE(Say(bad, 10'000));
  AwaitReset(bad);
  EXPECT_TRUE(Say(good, 50));
  char text[50];
  EXPECT_EQ(recv(taken_[0].get(), text, sizeof text, MSG_WAITALL), 50);
}

TEST_F(ConnectionGuardTest, StrangersOfAHostWaitForTheirTurn) {
  Start({.strangers_of_host = 2, .patience = std::chrono::hours(1)});
  std::vector<UniqueFd> clients;
  for (int i = 0; i < 2; ++i) clients.push_back(Enter());
  const OpenCall second = BeginCall();
  clients.push_back(Enter());
  EXPECT_EQ(num_taken(), 2u);
  EXPECT_EQ(guard_->stats().waiting, 1u);
  // Another host has places of its own.
  clients.push_back(Enter("127.0.0.2"));
  AwaitTaken(3);
  second.account().Rise(Standing::kInvited);
  AwaitTaken(4);
  EXPECT_EQ(guard_->stats().waiting, 0u);
}

TEST_F(ConnectionGuardTest, AStrangerThatClosesMakesRoom) {
  Start({.strangers = 1, .patience = std::chrono::hours(1)});
  const UniqueFd first = Enter();
  const UniqueFd second = Enter();
  EXPECT_EQ(num_taken(), 1u);
  CloseOldest();
  AwaitTaken(1);
}

TEST_F(ConnectionGuardTest, AStrangerThatHoldsUpOthersIsDisplaced) {
  Start({.strangers = 1, .patience = milliseconds(1)});
  const UniqueFd first = Enter();
  const UniqueFd second = Enter();
  AwaitReset(first);
  CloseOldest();  // gRPC does this then.
  AwaitTaken(1);
  EXPECT_EQ(guard_->stats().displaced, 1u);
  EXPECT_EQ(guard_->stats().cut, 0u);
}

TEST_F(ConnectionGuardTest, TooManyThatWaitAreRefusedTheOldestFirst) {
  Start({.strangers = 1, .waiting = 2, .patience = std::chrono::hours(1)});
  const UniqueFd served = Enter();
  const UniqueFd oldest = Enter();
  const UniqueFd second = Enter();
  const UniqueFd third = Enter();
  char byte;
  EXPECT_EQ(recv(oldest.get(), &byte, 1, 0), 0) << "closed";
  EXPECT_EQ(guard_->stats().refused, 1u);
  EXPECT_EQ(guard_->stats().waiting, 2u);
}

TEST_F(ConnectionGuardTest, AHostThatFloodedHasOneStrangerAtATime) {
  Start({.stranger_bytes = 100,
         .patience = std::chrono::hours(1),
         .penalty = std::chrono::hours(1),
         .spacing = milliseconds(1)});
  const UniqueFd bad = Enter();
  EXPECT_TRUE(Say(bad, 10'000));
  AwaitReset(bad);
  CloseOldest();
  const UniqueFd next = Enter();
  AwaitTaken(1);
  const UniqueFd last = Enter();
  EXPECT_EQ(guard_->stats().waiting, 1u);
  EXPECT_EQ(num_taken(), 1u);
}

TEST_F(ConnectionGuardTest, ClosingEndsWhatWaits) {
  Start({.strangers = 1, .patience = std::chrono::hours(1)});
  const UniqueFd served = Enter();
  const UniqueFd waits = Enter();
  guard_->Close();
  char byte;
  EXPECT_EQ(recv(waits.get(), &byte, 1, 0), 0);
  const UniqueFd late = Enter();
  EXPECT_EQ(recv(late.get(), &byte, 1, 0), 0);
  EXPECT_EQ(num_taken(), 1u);
}

TEST(PeerNameTest, IsAsGrpcNamesIt) {
  const Ends ends = Connect("127.0.0.3");
  const PeerName name = PeerNameOf(ends.server.get());
  EXPECT_EQ(name.host, "ipv4:127.0.0.3");
  EXPECT_EQ(name.peer.rfind("ipv4:127.0.0.3:", 0), 0u);
}

TEST(AccountBookTest, AnotherConnectionOfTheSameAddressHasItsOwnAccount) {
  AccountBook book;
  const auto first = book.Open("ipv4:10.0.0.1:1", WatchedSocket(), 1);
  const auto second = book.Open("ipv4:10.0.0.1:1", WatchedSocket(), 1);
  book.Close("ipv4:10.0.0.1:1", *first);
  EXPECT_EQ(book.Find("ipv4:10.0.0.1:1"), second);
  book.Close("ipv4:10.0.0.1:1", *second);
  EXPECT_NE(book.Find("ipv4:10.0.0.1:1"), second);
}

}  // namespace
}  // namespace penstock
