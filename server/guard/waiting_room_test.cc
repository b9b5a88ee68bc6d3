#include "server/guard/waiting_room.h"

#include <sys/socket.h>

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace penstock {
namespace {

class WaitingRoomTest : public ::testing::Test {
 protected:
  static bool Anyone(const std::string&) { return true; }

  bool Add(const std::string& host, const std::string& peer) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    peers_.emplace_back(ends[0]);
    return room_.Add({UniqueFd(ends[1]), {peer, host}, nullptr, nullptr});
  }
  // Returns the peer that has the next turn, or an empty string if none has.
  std::string Next(const std::function<bool(const std::string&)>& has_place = Anyone) {
    const std::optional<Arrival> next = room_.TakeTurn(has_place);
    return next.has_value() ? next->name.peer : "";
  }

  WaitingRoom room_{4};
  std::vector<UniqueFd> peers_;
};

TEST_F(WaitingRoomTest, HostsTakeTurns) {
  Add("a", "a1");
  Add("b", "b1");
  EXPECT_EQ(Next(), "a1");
  Add("a", "a2");
  EXPECT_EQ(Next(), "b1") << "it had no turn";
  Add("b", "b2");
  EXPECT_EQ(Next(), "a2") << "its last turn is longer ago";
  Add("c", "c1");
  EXPECT_EQ(Next(), "c1") << "it had none";
  EXPECT_EQ(Next(), "b2");
  EXPECT_EQ(Next(), "");
  EXPECT_TRUE(room_.empty());
}

TEST_F(WaitingRoomTest, OfAHostTheNewestAndTheOldestTakeTurns) {
  for (const char* peer : {"1", "2", "3", "4"}) Add("a", peer);
  for (const char* peer : {"4", "1", "3", "2"}) EXPECT_EQ(Next(), peer);
}

TEST_F(WaitingRoomTest, AHostWithoutAPlaceIsPassedOver) {
  Add("a", "a1");
  Add("b", "b1");
  EXPECT_EQ(Next([](const std::string& host) { return host == "b"; }), "b1");
  EXPECT_EQ(Next([](const std::string& host) { return host == "b"; }), "");
  EXPECT_EQ(room_.size(), 1u);
}

TEST_F(WaitingRoomTest, TheHostWithMostLosesItsOldest) {
  Add("a", "a1");
  Add("b", "b1");
  Add("b", "b2");
  EXPECT_TRUE(Add("b", "b3"));
  EXPECT_FALSE(Add("a", "a2"));
  char byte;
  EXPECT_EQ(recv(peers_[1].get(), &byte, 1, 0), 0) << "b1 was closed";
  EXPECT_EQ(Next(), "a2") << "the newest";
  EXPECT_EQ(Next(), "b2") << "the oldest";
}

TEST_F(WaitingRoomTest, WhoIsGoneHasNoTurn) {
  Add("a", "a1");
  Add("a", "a2");
  peers_[1].Reset();
  EXPECT_EQ(Next(), "a1");
}

}  // namespace
}  // namespace penstock
