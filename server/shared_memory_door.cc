#include "server/shared_memory_door.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/byte_size.h"
#include "base/process/start_thread.h"
#include "base/status.h"
#include "records/engine/part_buffer.h"
#include "records/wire/shared_memory.h"
#include "server/log.h"
#include "server/log_limiter.h"
#include "server/unix_listener.h"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kTicketBytes = 32;

absl::StatusOr<std::string> NewTicket() {
  std::string ticket(kTicketBytes, '\0');
  if (getrandom(ticket.data(), kTicketBytes, 0) != static_cast<ssize_t>(kTicketBytes)) {
    return ErrnoToStatus(errno, "getrandom");
  }
  return ticket;
}

// Sends one message, with a descriptor unless it is -1. If the peer does not take it, the message
// is lost.
void Reply(int connection, absl::string_view text, int descriptor) {
  iovec part{const_cast<char*>(text.data()), text.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  (void)sendmsg(connection, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// Returns the text that a connection sent, or an empty string if it is not usable.
std::string Hear(int connection) {
  char said[wire::kMaxTicketBytes + 1];
  ssize_t size = recv(connection, said, sizeof said, MSG_DONTWAIT);
  if (size <= 0 || static_cast<size_t>(size) > wire::kMaxTicketBytes) return {};
  return std::string(said, static_cast<size_t>(size));
}

}  // namespace

absl::Status SharedMemoryDoorOptions::Validate() const {
  if (absl::Status path = CheckSocketPath(socket); !path.ok()) {
    return Annotate(path, "--shm-socket");
  }
  if (pool_bytes == 0 || pool_bytes % PartBuffer::kMaxPartBytes != 0 || pool_bytes > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("pool_bytes is ", pool_bytes, ", but must be a multiple of ",
                     PartBuffer::kMaxPartBytes, ", at most ", max_bytes));
  }
  return absl::OkStatus();
}

// Peers that have not sent their ticket.
class SharedMemoryDoor::Connections {
 public:
  explicit Connections(SharedMemoryDoor& door) : door_(door) {}

  // Waits for something to do, and does it. Returns false if the door closes.
  bool Serve() {
    polled_.assign(1, {door_.wake_.get(), POLLIN, 0});
    for (const Peer& peer : peers_) polled_.push_back({peer.fd.get(), POLLIN, 0});
    const bool accepting = peers_.size() < door_.options_.max_connections && Rested();
    if (accepting) polled_.push_back({door_.listener_.get(), POLLIN, 0});
    poll(polled_.data(), polled_.size(), TimeoutMs());
    if (polled_[0].revents != 0) return false;
    for (size_t i = 0; i < peers_.size(); ++i) {
      if (polled_[i + 1].revents != 0) Answer(peers_[i]);
    }
    std::erase_if(peers_, [now = Clock::now()](const Peer& peer) {
      return !peer.fd.valid() || now >= peer.deadline;
    });
    if (accepting && polled_.back().revents != 0) Accept();
    return true;
  }

 private:
  struct Peer {
    UniqueFd fd;
    Clock::time_point deadline;
  };

  bool Rested() const { return Clock::now() >= rest_until_; }

  int TimeoutMs() const {
    Clock::time_point next = Clock::time_point::max();
    for (const Peer& peer : peers_) next = std::min(next, peer.deadline);
    if (!Rested()) next = std::min(next, rest_until_);
    if (next == Clock::time_point::max()) return -1;
    auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
    return static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
  }

  void Answer(Peer& peer) {
    if (std::string ticket = Hear(peer.fd.get()); !ticket.empty()) {
      absl::StatusOr<std::shared_ptr<SharedPool>> pool = door_.Redeem(ticket);
      if (pool.ok()) {
        Reply(peer.fd.get(), wire::kPoolGranted, (*pool)->fd());
      } else {
        TellOfRefusal(pool.status());
        Reply(peer.fd.get(), pool.status().message().substr(0, wire::kMaxDoorReplyBytes), -1);
      }
    }
    peer.fd.Reset();
  }

  // Limits the lines, because anyone who may connect can send invalid tickets without end.
  void TellOfRefusal(const absl::Status& status) {
    if (std::optional<uint64_t> left_out = log_.Allow(absl::StatusCodeToString(status.code()))) {
      LogWarning("shared memory refused error={} left_out={}", Quoted(status.ToString()),
                 *left_out);
    }
  }

  void Accept() {
    UniqueFd fd(accept4(door_.listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd.valid()) {
      peers_.push_back(
          {std::move(fd), Clock::now() + absl::ToChronoMilliseconds(door_.options_.patience)});
      out_of_descriptors_ = false;
    } else if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) {
      // The listener stays readable, so without a pause this would spin.
      rest_until_ = Clock::now() + std::chrono::milliseconds(100);
      if (!std::exchange(out_of_descriptors_, true)) {
        LogWarning("cannot accept shared memory connections socket={} error={}",
                   Quoted(door_.socket()), Quoted(std::strerror(errno)));
      }
    }
  }

  SharedMemoryDoor& door_;
  LogLimiter log_;
  std::vector<Peer> peers_;
  std::vector<pollfd> polled_;
  Clock::time_point rest_until_ = Clock::time_point::min();
  bool out_of_descriptors_ = false;
};

absl::StatusOr<std::unique_ptr<SharedMemoryDoor>> SharedMemoryDoor::Open(
    SharedMemoryDoorOptions options) {
  PENSTOCK_RETURN_IF_ERROR(options.Validate());
  absl::StatusOr<UniqueFd> listener = ListenOnUnixSocket(options.socket, options.group);
  if (!listener.ok()) return Annotate(listener.status(), "--shm-socket");
  UniqueFd wake(eventfd(0, EFD_CLOEXEC));
  if (!wake.valid()) return ErrnoToStatus(errno, "eventfd");
  std::unique_ptr<SharedMemoryDoor> door(
      new SharedMemoryDoor(std::move(options), *std::move(listener), std::move(wake)));
  PENSTOCK_ASSIGN_OR_RETURN(door->thread_, StartThread("that hands out shared memory",
                                                       [door = door.get()] { door->Run(); }));
  return door;
}

SharedMemoryDoor::SharedMemoryDoor(SharedMemoryDoorOptions options, UniqueFd listener,
                                   UniqueFd wake)
    : options_(std::move(options)),
      listener_(std::move(listener)),
      bound_(FileStamp::At(options_.socket)),
      wake_(std::move(wake)) {}

SharedMemoryDoor::~SharedMemoryDoor() {
  if (IsOurs()) unlink(options_.socket.c_str());
  eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) thread_.join();
}

bool SharedMemoryDoor::IsOurs() const {
  const FileStamp now = FileStamp::At(options_.socket);
  return now.device == bound_.device && now.inode == bound_.inode;
}

void SharedMemoryDoor::Run() {
  Connections connections(*this);
  while (connections.Serve()) continue;
}

std::unique_ptr<SharedMemoryDoor::Lease> SharedMemoryDoor::MakeLease() {
  absl::StatusOr<std::string> ticket = NewTicket();
  if (!ticket.ok()) return nullptr;
  {
    MutexLock lock(&mutex_);
    tickets_.emplace(*ticket, Ticket{});
  }
  return std::unique_ptr<Lease>(new Lease(*this, *std::move(ticket)));
}

SharedMemoryDoor::Lease::~Lease() {
  // The pool of this node is destroyed without the lock.
  std::map<std::string, Ticket, std::less<>>::node_type ended;
  MutexLock lock(&door_.mutex_);
  ended = door_.tickets_.extract(ticket_);
}

std::shared_ptr<SharedPool> SharedMemoryDoor::Lease::pool() const {
  MutexLock lock(&door_.mutex_);
  return door_.tickets_.find(ticket_)->second.pool;
}

absl::StatusOr<std::shared_ptr<SharedPool>> SharedMemoryDoor::Redeem(absl::string_view ticket) {
  {
    MutexLock lock(&mutex_);
    auto found = tickets_.find(ticket);
    if (found == tickets_.end())
      return absl::PermissionDeniedError(
          "unknown ticket: its stream has ended, or the server never issued it");
    if (std::exchange(found->second.used, true)) {
      return absl::PermissionDeniedError("this ticket was used before");
    }
  }
  PENSTOCK_ASSIGN_OR_RETURN(std::shared_ptr<SharedPool> pool, MakePool());
  MutexLock lock(&mutex_);
  auto found = tickets_.find(ticket);
  if (found == tickets_.end()) return absl::CancelledError("the stream has ended");
  found->second.pool = pool;
  return pool;
}

absl::StatusOr<std::shared_ptr<SharedPool>> SharedMemoryDoor::MakePool() {
  // Only this thread adds to bytes_.
  if (*bytes_ + options_.pool_bytes > options_.max_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("shared pools take ", FormatByteSize(*bytes_),
                                                     ", another would exceed the limit of ",
                                                     FormatByteSize(options_.max_bytes)));
  }
  const size_t size = options_.pool_bytes;
  *bytes_ += size;
  std::shared_ptr<void> counted(nullptr, [bytes = bytes_, size](void*) { *bytes -= size; });
  return SharedPool::Create(size, std::move(counted));
}

}  // namespace penstock
