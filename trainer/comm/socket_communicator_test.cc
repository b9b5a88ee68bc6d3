#include "trainer/comm/socket_communicator.h"

#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cstring>
#include <numeric>

#include "base/io/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/comm/local_address.h"
#include "trainer/comm/socket_mesh.h"
#include "trainer/comm/testing/unconnected_rank.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

TEST(LossAlarmTest, ALostRankEndsAWaitForASocketThatIsSilent) {
  RunRanks(2, [](RankGroup& group) {
    if (group.info().rank == 1) return group.Fail(absl::InternalError("on purpose"));
    LossAlarm alarm(*group.store());
    const UniqueFd silent(eventfd(0, EFD_CLOEXEC));
    std::vector<pollfd> polled = {{silent.get(), POLLIN, 0}};
    EXPECT_THAT(alarm.Poll(polled, Patience(absl::Hours(1))).status(),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("on purpose")));
  });
}

TEST(SocketMeshTest, ARankThatEndsWhileOthersWaitForItsConnectionEndsThem) {
  ExpectThatAnEndEndsConnecting(
      ConnectBy(ConnectSockets), "sockets", [](const RankInfo& info, StoreClient& store) {
        LossAlarm alarm(store);
        SocketMesh mesh(info, store, alarm);
        EXPECT_TRUE(absl::IsCancelled(mesh.Connect("127.0.0.1", absl::Hours(1))));
      });
}

TEST(SocketMeshTest, ARankThatDoesNotComeIsNamed) {
  ExpectThatOneWhoDoesNotComeIsNamed(ConnectBy(ConnectSockets));
}

// Opens a connection to rank 0's address, which is the first part of its store entry.
UniqueFd ConnectToRank0(StoreClient& store) {
  const std::string endpoint = *store.Get("sockets/0", absl::Hours(1));
  sockaddr_storage address = {};
  std::memcpy(&address, endpoint.data(), sizeof address);
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(sockaddr_in)), 0);
  return fd;
}

// Before rank 1 comes, one peer says nothing, one claims to be rank 1 without the token, and one
// disconnects.
TEST(SocketMeshTest, StrangersThatConnectAreNoRanks) {
  RankGroupOptions options;
  options.connect = [](const RankInfo& info, StoreClient& store,
                       const WaitOptions& waits) -> absl::StatusOr<std::unique_ptr<Communicator>> {
    if (info.rank == 0) return ConnectBy(ConnectSockets)(info, store, waits);
    const UniqueFd silent = ConnectToRank0(store), talks = ConnectToRank0(store);
    ConnectToRank0(store);
    const std::string words("no such token...\1\0\0\0", 20);
    EXPECT_EQ(send(talks.get(), words.data(), words.size(), 0), 20);
    return ConnectBy(ConnectSockets)(info, store, waits);
  };
  RunRanks(
      2, [](RankGroup& group) { EXPECT_OK(group.communicator().Barrier()); }, options);
}

// Far more data than sockets hold: no rank can send everything before it receives.
TEST(SocketCommunicatorTest, LargeMessagesTravelBothWaysAtOnce) {
  RunRanks(2,
           [](RankGroup& group) {
             const size_t rank = group.communicator().rank(), peer = 1 - rank;
             std::vector<uint32_t> sent(8 << 20), got(sent.size()), expected(sent.size());
             std::iota(sent.begin(), sent.end(), uint32_t(rank << 24));
             std::iota(expected.begin(), expected.end(), uint32_t(peer << 24));
             const auto bytes = [](std::vector<uint32_t>& numbers) {
               return std::span(reinterpret_cast<uint8_t*>(numbers.data()), 4 * numbers.size());
             };
             const Communicator::Outgoing out{peer, bytes(sent)};
             const Communicator::Incoming in{peer, bytes(got)};
             ASSERT_OK(group.communicator().Exchange({&out, 1}, {&in, 1}));
             EXPECT_EQ(got, expected);
           },
           {.connect = ConnectBy(ConnectSockets)});
}

TEST(SocketCommunicatorTest, AMessageOfAnotherSizeEndsItsReceiver) {
  RunRanks(2,
           [](RankGroup& group) {
             std::vector<uint8_t> bytes(group.info().rank == 0 ? 10 : 20);
             if (group.info().rank == 0) {
               EXPECT_OK(group.communicator().Send(1, bytes));
               EXPECT_FALSE(group.store()->WaitForLost(absl::Hours(1)).ok());
               return;
             }
             const absl::Status status = group.communicator().Receive(0, bytes);
             EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal,
                                          AllOf(HasSubstr("rank 0"), HasSubstr("10 bytes"),
                                                HasSubstr("20 was expected"))));
             group.Fail(status);
           },
           {.tcp = {{.verdict_timeout = absl::Milliseconds(100)}},
            .connect = ConnectBy(ConnectSockets)});
}

TEST(TcpWayTest, RanksOfTwoWaysAreRefused) {
  const RankGroupOptions options{
      .connect = [](const RankInfo& info, StoreClient& store, const WaitOptions&) {
        const TcpWay way{info.rank == 0 ? "Gloo" : kSocketsName, ConnectSockets};
        return ConnectTcp(info, store, {}, way);
      }};
  std::vector<std::jthread> threads;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, info = TestRank(rank, 2)] {
      EXPECT_THAT(RankGroup::Join(info, options).status().message(),
                  AnyOf(HasSubstr("rank 0 connects ranks by Gloo, but rank 1 by sockets"),
                        HasSubstr("rank 1 connects ranks by sockets, but rank 0 by Gloo")));
    });
  }
}

TEST(InterfaceAddressTest, IsThatOfTheInterface) {
  EXPECT_THAT(InterfaceAddress("lo"), IsOkAndHolds("127.0.0.1"));
  EXPECT_THAT(InterfaceAddress("none7"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("--interface none7")));
}

}  // namespace
}  // namespace penstock
