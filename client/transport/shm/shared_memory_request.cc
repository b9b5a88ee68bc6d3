#include "client/transport/shm/shared_memory_request.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/io/receive_descriptor.h"
#include "base/process/start_thread.h"
#include "base/status.h"
#include "records/wire/shared_memory.h"

namespace penstock {
namespace {

constexpr int kPatienceMs = 10'000;

// Checks the values that the server chose.
absl::Status Check(const std::string& socket, const std::string& ticket) {
  if (socket.empty() || socket[0] != '/' || socket.size() >= sizeof(sockaddr_un::sun_path)) {
    return absl::InvalidArgumentError("the server sent an invalid socket path for shared memory");
  }
  if (ticket.empty() || ticket.size() > wire::kMaxTicketBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the server sent a ticket of ", ticket.size(),
                                                   " bytes; 1 to ", wire::kMaxTicketBytes,
                                                   " are valid"));
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> ConnectTo(const std::string& socket_path) {
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return ErrnoToStatus(errno, "socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_path.c_str(), socket_path.size() + 1);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return ErrnoToStatus(errno, socket_path);
  }
  return fd;
}

struct Reply {
  std::string text;
  UniqueFd descriptor;
};

Reply Receive(int connection) {
  char text[wire::kMaxDoorReplyBytes];
  Reply reply;
  const ssize_t size = ReceiveWithDescriptor(connection, text, MSG_DONTWAIT, reply.descriptor);
  if (size > 0) reply.text.assign(text, static_cast<size_t>(size));
  return reply;
}

}  // namespace

SharedMemoryRequest::SharedMemoryRequest(std::string socket, std::string ticket, Done done)
    : socket_(std::move(socket)),
      ticket_(std::move(ticket)),
      done_(std::move(done)),
      stop_(eventfd(0, EFD_CLOEXEC)) {
  auto thread = StartThread("that asks for shared memory", [this] { done_(Fetch()); });
  if (thread.ok()) {
    thread_ = *std::move(thread);
  } else {
    done_(thread.status());
  }
}

SharedMemoryRequest::~SharedMemoryRequest() {
  if (stop_.valid()) eventfd_write(stop_.get(), 1);
  if (thread_.joinable()) thread_.join();
}

absl::StatusOr<std::shared_ptr<const SharedMapping>> SharedMemoryRequest::Fetch() const {
  if (!stop_.valid())
    return absl::ResourceExhaustedError("out of file descriptors; raise the limit (ulimit -n)");
  PENSTOCK_RETURN_IF_ERROR(Check(socket_, ticket_));
  PENSTOCK_ASSIGN_OR_RETURN(UniqueFd connection, ConnectTo(socket_));
  if (send(connection.get(), ticket_.data(), ticket_.size(), MSG_NOSIGNAL) < 0) {
    return ErrnoToStatus(errno, socket_);
  }
  PENSTOCK_RETURN_IF_ERROR(WaitFor(connection.get()));
  Reply reply = Receive(connection.get());
  if (reply.text != wire::kPoolGranted || !reply.descriptor.valid()) {
    return absl::UnavailableError(absl::StrCat(
        socket_, ": ", reply.text.empty() ? "the server closed the connection" : reply.text));
  }
  return SharedMapping::Map(reply.descriptor);
}

absl::Status SharedMemoryRequest::WaitFor(int connection) const {
  pollfd polled[] = {{connection, POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  const int ready = poll(polled, 2, kPatienceMs);
  if (ready < 0) return ErrnoToStatus(errno, "poll");
  if (polled[1].revents != 0) return absl::CancelledError("the stream has ended");
  if (ready == 0) {
    return absl::DeadlineExceededError(
        absl::StrCat(socket_, ": no answer within ", kPatienceMs / 1000, " s"));
  }
  return absl::OkStatus();
}

}  // namespace penstock
