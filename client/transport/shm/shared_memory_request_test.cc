#include "client/transport/shm/shared_memory_request.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "base/bounded_queue.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;
using Result = absl::StatusOr<std::shared_ptr<const SharedMapping>>;

// The server's socket; gives the answers that the test sets.
class FakeDoor {
 public:
  explicit FakeDoor(const std::string& path)
      : listener_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_.get(), 1), 0);
  }
  // Accepts the next peer and returns its ticket.
  std::string Accept() {
    connection_ = UniqueFd(accept(listener_.get(), nullptr, nullptr));
    char ticket[100];
    ssize_t size = recv(connection_.get(), ticket, sizeof ticket, 0);
    return std::string(ticket, size > 0 ? static_cast<size_t>(size) : 0);
  }
  void Say(const std::string& text, std::vector<int> descriptors) {
    iovec part{const_cast<char*>(text.data()), text.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    std::vector<char> control(CMSG_SPACE(descriptors.size() * sizeof(int)));
    if (!descriptors.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
      std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size() * sizeof(int));
    }
    EXPECT_GE(sendmsg(connection_.get(), &message, MSG_NOSIGNAL), 0);
  }
  void HangUp() { connection_.Reset(); }

 private:
  UniqueFd listener_;
  UniqueFd connection_;
};

class SharedMemoryRequestTest : public ::testing::Test {
 protected:
  SharedMemoryRequest Request(const std::string& socket, const std::string& ticket = "ticket") {
    return SharedMemoryRequest(socket, ticket,
                               [this](Result result) { done_.Push(std::move(result)); });
  }
  UniqueFd Memory(int seals) {
    UniqueFd fd(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(ftruncate(fd.get(), 4096), 0);
    EXPECT_EQ(fcntl(fd.get(), F_ADD_SEALS, seals), 0);
    return fd;
  }

  TempFolder folder_;
  const std::string path_ = folder_.path() + "/door";
  BoundedQueue<Result> done_{4};
};

TEST_F(SharedMemoryRequestTest, SaysItsTicketAndMapsWhatComes) {
  FakeDoor door(path_);
  SharedMemoryRequest request = Request(path_);
  EXPECT_EQ(door.Accept(), "ticket");
  UniqueFd memory = Memory(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  door.Say("ok", {memory.get()});
  Result result = *done_.Pop();
  ASSERT_OK(result);
  EXPECT_EQ((*result)->bytes().size(), 4096u);
}

TEST_F(SharedMemoryRequestTest, TellsWhyItWasRefused) {
  FakeDoor door(path_);
  SharedMemoryRequest request = Request(path_);
  door.Accept();
  door.Say("shared pools take too much", {});
  EXPECT_THAT(*done_.Pop(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("too much")));
}

TEST_F(SharedMemoryRequestTest, RefusesMemoryThatIsNotSealed) {
  FakeDoor door(path_);
  SharedMemoryRequest request = Request(path_);
  door.Accept();
  UniqueFd memory = Memory(F_SEAL_GROW);
  door.Say("ok", {memory.get()});
  EXPECT_THAT(*done_.Pop(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("seals")));
}

TEST_F(SharedMemoryRequestTest, RefusesOkWithoutOneDescriptor) {
  UniqueFd memory = Memory(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  FakeDoor door(path_);
  for (const std::vector<int>& descriptors : {std::vector<int>{}, {memory.get(), memory.get()}}) {
    SharedMemoryRequest request = Request(path_);
    door.Accept();
    door.Say("ok", descriptors);
    EXPECT_THAT(*done_.Pop(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("ok")));
  }
}

TEST_F(SharedMemoryRequestTest, TellsOfADoorThatHangsUp) {
  FakeDoor door(path_);
  SharedMemoryRequest request = Request(path_);
  door.Accept();
  door.HangUp();
  EXPECT_THAT(*done_.Pop(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("closed")));
}

TEST_F(SharedMemoryRequestTest, NothingThere) {
  SharedMemoryRequest request = Request(path_);
  EXPECT_THAT(*done_.Pop(), StatusIs(absl::StatusCode::kNotFound, HasSubstr(path_)));
}

TEST_F(SharedMemoryRequestTest, RefusesWhatIsNoPathOrTicket) {
  for (auto [socket, ticket] : {std::pair<std::string, std::string>{"door", "ticket"},
                                {std::string("\0abstract", 9), "ticket"},
                                {"/" + std::string(200, 'x'), "ticket"},
                                {path_, ""},
                                {path_, std::string(65, 'x')}}) {
    SharedMemoryRequest request = Request(socket, ticket);
    EXPECT_EQ(done_.Pop()->status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(SharedMemoryRequestTest, ItsEndEndsTheWait) {
  FakeDoor door(path_);
  {
    SharedMemoryRequest request = Request(path_);
    door.Accept();  // The door sends nothing.
  }
  EXPECT_EQ(done_.Pop()->status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace penstock
