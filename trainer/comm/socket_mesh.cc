#include "trainer/comm/socket_mesh.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace penstock {

LossAlarm::LossAlarm(StoreClient& store)
    : store_(store), event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  store_.OnLost(this, [this](const absl::Status&) { eventfd_write(event_.get(), 1); });
}

LossAlarm::~LossAlarm() { store_.OnLost(this, nullptr); }

absl::StatusOr<bool> LossAlarm::Poll(std::vector<pollfd>& sockets, const Patience& patience) {
  if (!event_.valid()) return ErrnoToStatus(EMFILE, "eventfd");
  sockets.push_back({event_.get(), POLLIN, 0});
  const int ready = poll(sockets.data(), sockets.size(), patience.left_ms());
  const int error = errno;
  sockets.pop_back();
  if (ready < 0 && error != EINTR) return ErrnoToStatus(error, "waiting for other ranks");
  PENSTOCK_RETURN_IF_ERROR(store_.lost());
  return ready > 0 || !patience.ended();
}

namespace {

constexpr size_t kMaxStrangers = 64;  // Silent connections, in addition to one per rank.

using Token = std::array<uint8_t, 16>;

// A rank's entry in the store for the others, as raw bytes. Ranks of other programs are refused
// earlier, or because their entry has another size.
struct Endpoint {
  sockaddr_storage address;
  uint64_t size;  // Bytes of `address`.
  Token token;
};

// The first bytes that a rank sends on a new connection.
struct Hello {
  Token token;
  uint32_t rank;
};

std::string SocketsKey(uint32_t rank) { return absl::StrCat("sockets/", rank); }

absl::StatusOr<Token> RandomToken() {
  Token token;
  if (getentropy(token.data(), token.size()) != 0) return ErrnoToStatus(errno, "getentropy");
  return token;
}

absl::StatusOr<UniqueFd> OpenSocket(int family) {
  UniqueFd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return ErrnoToStatus(errno, "socket");
  const int yes = 1;  // Accepted sockets inherit it.
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return fd;
}

// Listens at a free port of `host`, and stores the address in `endpoint`.
absl::StatusOr<UniqueFd> Listen(const std::string& host, Endpoint& endpoint) {
  addrinfo hints = {};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), "0", &hints, &found); error != 0) {
    return absl::UnavailableError(absl::StrCat("listening: ", gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  PENSTOCK_ASSIGN_OR_RETURN(UniqueFd fd, OpenSocket(found->ai_family));
  socklen_t size = sizeof endpoint.address;
  if (bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0 || listen(fd.get(), SOMAXCONN) != 0 ||
      getsockname(fd.get(), reinterpret_cast<sockaddr*>(&endpoint.address), &size) != 0) {
    return ErrnoToStatus(errno, "listening");
  }
  endpoint.size = size;
  return fd;
}

absl::StatusOr<Endpoint> ParseEndpoint(const std::string& bytes) {
  Endpoint endpoint;
  if (bytes.size() != sizeof endpoint) {
    return absl::InternalError(absl::StrCat("its address has ", bytes.size(), " bytes instead of ",
                                            sizeof endpoint,
                                            ": start all ranks from the same build"));
  }
  std::memcpy(&endpoint, bytes.data(), sizeof endpoint);
  return endpoint;
}

absl::Status NotWithin(absl::Duration timeout) {
  return absl::DeadlineExceededError(
      absl::StrCat("no connection within ", absl::FormatDuration(timeout)));
}

}  // namespace

absl::Status SocketMesh::ConnectTo(uint32_t peer, absl::Duration timeout) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::string bytes, store_.Get(SocketsKey(peer), timeout));
  PENSTOCK_ASSIGN_OR_RETURN(const Endpoint endpoint, ParseEndpoint(bytes));
  PENSTOCK_ASSIGN_OR_RETURN(UniqueFd fd, OpenSocket(endpoint.address.ss_family));
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&endpoint.address),
              static_cast<socklen_t>(endpoint.size)) != 0 &&
      errno != EINPROGRESS) {
    return ErrnoToStatus(errno, "connect");
  }
  const Patience patience(timeout);
  std::vector<pollfd> polled = {{fd.get(), POLLOUT, 0}};
  while (polled[0].revents == 0) {
    PENSTOCK_ASSIGN_OR_RETURN(const bool going_on, alarm_.Poll(polled, patience));
    if (!going_on) return NotWithin(timeout);
  }
  // The first bytes always fit the socket's buffer. If the connection failed, send() returns the
  // reason.
  const Hello hello{endpoint.token, info_.rank};
  if (send(fd.get(), &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello) {
    return ErrnoToStatus(errno, "connect");
  }
  sockets_[peer] = std::move(fd);
  return absl::OkStatus();
}

absl::Status SocketMesh::Accept() {
  UniqueFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (fd.valid()) {
    if (silent_.size() == info_.world_size + kMaxStrangers) silent_.erase(silent_.begin());
    silent_.push_back(std::move(fd));
    return absl::OkStatus();
  }
  // Other errors concern one connection, which is gone: accept(2).
  const bool short_of = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
  return short_of ? ErrnoToStatus(errno, "accept") : absl::OkStatus();
}

// Assigns the connection to its rank if a rank's Hello arrives; else closes it. A Hello is the
// first twenty bytes of a connection, which arrive together.
void SocketMesh::Meet(UniqueFd connection) {
  Hello hello;
  if (recv(connection.get(), &hello, sizeof hello, 0) != sizeof hello) return;
  if (hello.token != token_ || hello.rank <= info_.rank || hello.rank >= info_.world_size) return;
  sockets_[hello.rank] = std::move(connection);
}

absl::Status SocketMesh::AwaitPeer(uint32_t peer, absl::Duration timeout) {
  const Patience patience(timeout);
  while (!sockets_[peer].valid()) {
    std::vector<pollfd> polled = {{listener_.get(), POLLIN, 0}};
    for (const UniqueFd& fd : silent_) polled.push_back({fd.get(), POLLIN, 0});
    PENSTOCK_ASSIGN_OR_RETURN(const bool going_on, alarm_.Poll(polled, patience));
    if (!going_on) return NotWithin(timeout);
    for (size_t i = silent_.size(); i > 0; --i) {
      if (polled[i].revents == 0) continue;
      Meet(std::exchange(silent_[i - 1], UniqueFd()));
    }
    std::erase_if(silent_, [](const UniqueFd& fd) { return !fd.valid(); });
    if (polled[0].revents != 0) PENSTOCK_RETURN_IF_ERROR(Accept());
    // Strangers may keep this loop busy.
    if (!sockets_[peer].valid() && patience.ended()) return NotWithin(timeout);
  }
  return absl::OkStatus();
}

// Connects to lower ranks first, whose listeners always accept, then awaits connections from higher
// ones.
absl::Status SocketMesh::Connect(const std::string& host, absl::Duration timeout) {
  Endpoint endpoint = {};
  PENSTOCK_ASSIGN_OR_RETURN(endpoint.token, RandomToken());
  PENSTOCK_ASSIGN_OR_RETURN(listener_, Listen(host, endpoint));
  token_ = endpoint.token;
  PENSTOCK_RETURN_IF_ERROR(
      store_.Put(SocketsKey(info_.rank),
                 std::string(reinterpret_cast<const char*>(&endpoint), sizeof endpoint)));
  for (uint32_t peer = 0; peer < info_.world_size; ++peer) {
    if (peer == info_.rank) continue;
    PENSTOCK_RETURN_IF_ERROR(
        Annotate(peer < info_.rank ? ConnectTo(peer, timeout) : AwaitPeer(peer, timeout),
                 absl::StrCat("connecting to rank ", peer)));
  }
  listener_.Reset();
  silent_.clear();
  return absl::OkStatus();
}

}  // namespace penstock
