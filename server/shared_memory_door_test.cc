#include "server/shared_memory_door.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/testing/captured_log.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::SizeIs;

// A peer of the door, honest or not.
class Peer {
 public:
  explicit Peer(const std::string& path)
      : fd_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  void Say(const std::string& ticket) {
    EXPECT_EQ(send(fd_.get(), ticket.data(), ticket.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(ticket.size()));
  }
  // Returns the door's message, or "" when the door closes the connection. Sets `pool` to the
  // descriptor that came with the message.
  std::string Hear() {
    pollfd polled{fd_.get(), POLLIN, 0};
    EXPECT_EQ(poll(&polled, 1, 60'000), 1);
    char text[600], control[CMSG_SPACE(sizeof(int))];
    iovec part{text, sizeof text};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t size = recvmsg(fd_.get(), &message, MSG_CMSG_CLOEXEC);
    if (size > 0 && CMSG_FIRSTHDR(&message) != nullptr) {
      int descriptor;
      std::memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof descriptor);
      pool = UniqueFd(descriptor);
    }
    return std::string(text, size > 0 ? static_cast<size_t>(size) : 0);
  }
  std::string Ask(const std::string& ticket) {
    Say(ticket);
    return Hear();
  }
  UniqueFd pool;

 private:
  UniqueFd fd_;
};

size_t NumDescriptors() {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                                           std::filesystem::directory_iterator()));
}

class SharedMemoryDoorTest : public ::testing::Test {
 protected:
  static constexpr size_t kPool = size_t{1} << 20;

  void Open(SharedMemoryDoorOptions options = {}) {
    options.socket = path_;
    options.pool_bytes = kPool;
    ASSERT_OK_AND_ASSIGN(door_, SharedMemoryDoor::Open(options));
  }

  TempFolder folder_;
  const std::string path_ = folder_.path() + "/door";
  std::unique_ptr<SharedMemoryDoor> door_;
};

TEST_F(SharedMemoryDoorTest, GivesThePoolForTheTicket) {
  Open();
  auto lease = door_->MakeLease();
  EXPECT_EQ(lease->pool(), nullptr);
  Peer peer(path_);
  EXPECT_EQ(peer.Ask(lease->ticket()), "ok");
  ASSERT_TRUE(peer.pool.valid());
  ASSERT_NE(lease->pool(), nullptr);
  struct stat theirs {
  }, ours{};
  fstat(peer.pool.get(), &theirs);
  fstat(lease->pool()->fd(), &ours);
  EXPECT_EQ(theirs.st_ino, ours.st_ino);
  EXPECT_EQ(static_cast<size_t>(theirs.st_size), kPool);
}

TEST_F(SharedMemoryDoorTest, ATicketIsGoodOnce) {
  Open();
  auto lease = door_->MakeLease();
  Peer first(path_), second(path_);
  EXPECT_EQ(first.Ask(lease->ticket()), "ok");
  EXPECT_THAT(second.Ask(lease->ticket()), HasSubstr("used before"));
  EXPECT_FALSE(second.pool.valid());
}

TEST_F(SharedMemoryDoorTest, RefusesTicketsOfNoStream) {
  Open();
  auto lease = door_->MakeLease();
  const std::string old = lease->ticket();
  lease.reset();
  for (const std::string& ticket : {old, std::string("x"), std::string(64, 'y')}) {
    Peer peer(path_);
    EXPECT_THAT(peer.Ask(ticket), HasSubstr("unknown ticket"));
    EXPECT_FALSE(peer.pool.valid());
  }
}

TEST_F(SharedMemoryDoorTest, TicketsOfNoStreamDoNotFillTheLog) {
  CapturedLog log;
  Open();
  for (int i = 0; i < 30; ++i) {
    EXPECT_THAT(Peer(path_).Ask("a ticket of nobody"), HasSubstr("unknown ticket"));
  }
  door_.reset();
  const std::vector<std::string> lines = log.LinesWith("shared memory refused");
  ASSERT_THAT(lines, SizeIs(AllOf(Ge(1u), Le(log.MostOfAKind()))));
  EXPECT_THAT(lines[0], HasSubstr("left_out=0"));
}

TEST_F(SharedMemoryDoorTest, TicketsDiffer) {
  Open();
  auto first = door_->MakeLease(), second = door_->MakeLease();
  EXPECT_NE(first->ticket(), second->ticket());
  EXPECT_EQ(first->ticket().size(), 32u);
}

TEST_F(SharedMemoryDoorTest, HangsUpOnWhoSaysTooMuch) {
  Open();
  Peer peer(path_);
  EXPECT_EQ(peer.Ask(std::string(65, 'z')), "");
}

TEST_F(SharedMemoryDoorTest, HangsUpOnTheSilentAndServesTheOthers) {
  Open({.patience = absl::Seconds(1), .max_connections = 2});
  auto lease = door_->MakeLease();
  Peer silent(path_), mute(path_), late(path_);  // One more than the door holds at a time.
  EXPECT_EQ(late.Ask(lease->ticket()), "ok");
  EXPECT_EQ(silent.Hear(), "");
  EXPECT_EQ(mute.Hear(), "");
}

TEST_F(SharedMemoryDoorTest, PoolsHaveALimitAndCountUntilTheyGo) {
  Open({.max_bytes = kPool});
  auto first = door_->MakeLease(), second = door_->MakeLease();
  Peer peer(path_);
  EXPECT_EQ(peer.Ask(first->ticket()), "ok");
  EXPECT_EQ(peer.Hear(), "");  // The door has closed the connection.
  EXPECT_THAT(Peer(path_).Ask(second->ticket()), HasSubstr("limit of 1.0 MiB"));
  EXPECT_EQ(door_->pool_bytes(), kPool);
  first.reset();
  EXPECT_EQ(door_->pool_bytes(), 0u);
  auto third = door_->MakeLease();
  EXPECT_EQ(Peer(path_).Ask(third->ticket()), "ok");
}

TEST_F(SharedMemoryDoorTest, APoolOutlivesTheDoor) {
  Open();
  auto lease = door_->MakeLease();
  EXPECT_EQ(Peer(path_).Ask(lease->ticket()), "ok");
  std::shared_ptr<SharedPool> pool = lease->pool();
  lease.reset();
  door_.reset();
  pool->Take(4096)[0] = 1;
}

TEST_F(SharedMemoryDoorTest, TwoHundredConnectionsLeakNoDescriptor) {
  Open();
  const size_t before = NumDescriptors();
  for (int i = 0; i < 200; ++i) {
    auto lease = door_->MakeLease();
    Peer peer(path_);
    EXPECT_NE(peer.Ask(i % 4 == 3 ? "wrong" : lease->ticket()), "");
    EXPECT_EQ(peer.Hear(), "");  // The door has closed its side.
  }
  // The door may still hold the last connections.
  auto lease = door_->MakeLease();
  {
    Peer last(path_);
    EXPECT_EQ(last.Ask(lease->ticket()), "ok");
    EXPECT_EQ(last.Hear(), "");
  }
  lease.reset();
  EXPECT_EQ(NumDescriptors(), before);
}

TEST_F(SharedMemoryDoorTest, OnlyThisUserMayConnect) {
  Open();
  struct stat info {};
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
}

TEST_F(SharedMemoryDoorTest, AGroupMayBeAdmitted) {
  Open({.group = "root"});
  struct stat info {};
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0660u);
  EXPECT_EQ(info.st_gid, 0u);
}

TEST_F(SharedMemoryDoorTest, RemovesItsSocketAndReplacesAnOldOne) {
  Open();
  door_.reset();
  EXPECT_FALSE(std::filesystem::exists(path_));
  // This socket looks like one that a killed process leaves behind.
  UniqueFd old(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(bind(old.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  old.Reset();
  Open();
  auto lease = door_->MakeLease();
  EXPECT_EQ(Peer(path_).Ask(lease->ticket()), "ok");
}

TEST_F(SharedMemoryDoorTest, LeavesTheSocketOfAnotherServer) {
  Open();
  std::unique_ptr<SharedMemoryDoor> first = std::move(door_);
  std::filesystem::remove(path_);
  Open();
  first.reset();
  auto lease = door_->MakeLease();
  EXPECT_EQ(Peer(path_).Ask(lease->ticket()), "ok");
}

TEST_F(SharedMemoryDoorTest, RefusesAPathThatIsTaken) {
  Open();
  EXPECT_THAT(SharedMemoryDoor::Open({.socket = path_}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("another process listens")));
  const std::string file = folder_.path() + "/file";
  UniqueFd(open(file.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  EXPECT_THAT(SharedMemoryDoor::Open({.socket = file}),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("is not a socket")));
}

TEST_F(SharedMemoryDoorTest, RefusesWrongOptions) {
  for (const std::string& path : {std::string("relative"), "/" + std::string(107, 'x')}) {
    EXPECT_THAT(SharedMemoryDoor::Open({.socket = path}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--shm-socket")));
  }
  EXPECT_THAT(SharedMemoryDoor::Open({.socket = path_, .group = "no such group"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no group")));
  EXPECT_THAT(SharedMemoryDoor::Open({.socket = path_, .pool_bytes = 4096}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("multiple")));
}

}  // namespace
}  // namespace penstock
