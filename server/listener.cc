#include "server/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/io/local_port.h"
#include "base/process/process_stats.h"
#include "base/process/start_thread.h"
#include "base/status.h"
#include "server/grpc_log.h"
#include "server/log.h"

namespace penstock {
namespace {

constexpr std::chrono::seconds kPatience{10};
constexpr int kFreePorts = 16;  // Number of free ports to try.
constexpr uint8_t kTlsHandshake = 0x16;
constexpr uint8_t kHttp2 = 'P';  // "PRI * HTTP/2.0"

std::string PeerOf(int connection) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (getpeername(connection, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr*>(&address), size, host, sizeof host, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "unknown";
  }
  return absl::StrCat(host, ":", port);
}

UniqueFd OpenSpare() { return UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

void SetUp(int socket) {
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  // Accepted connections inherit these options.
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  const int user_timeout_ms = 20'000;
  setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_timeout_ms, sizeof user_timeout_ms);
}

std::string HostOf(const addrinfo& entry) {
  char host[NI_MAXHOST];
  const int error =
      getnameinfo(entry.ai_addr, entry.ai_addrlen, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
  return error == 0 ? host : "unknown";
}

// Whether the same address came before. A hosts file may list an address twice.
bool IsRepeated(const addrinfo* found, const addrinfo* entry) {
  for (const addrinfo* before = found; before != entry; before = before->ai_next) {
    if (before->ai_addrlen == entry->ai_addrlen &&
        std::memcmp(before->ai_addr, entry->ai_addr, entry->ai_addrlen) == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::Bind(const ListenAddress& address) {
  PENSTOCK_ASSIGN_OR_RETURN(const ResolvedAddresses found, ResolveListenHost(address));
  return Bind(address, found.get());
}

absl::StatusOr<std::unique_ptr<Listener>> Listener::Bind(const ListenAddress& address,
                                                         const addrinfo* found) {
  std::unique_ptr<Listener> listener;
  absl::Status added;
  // A port that is free at the first address may be taken at the second.
  for (int attempts = address.port == 0 ? kFreePorts : 1; attempts > 0; --attempts) {
    listener.reset(new Listener);
    added = listener->AddAll(address, found);
    if (!absl::IsUnavailable(added)) break;
  }
  PENSTOCK_RETURN_IF_ERROR(added);
  listener->wake_ = UniqueFd(eventfd(0, EFD_CLOEXEC));
  listener->spare_ = OpenSpare();
  return listener;
}

absl::Status Listener::AddAll(const ListenAddress& address, const addrinfo* found) {
  int lacking = 0;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    if (IsRepeated(found, entry)) continue;
    const int error = Add(*entry);
    if (error == EAFNOSUPPORT || error == EADDRNOTAVAIL) {
      lacking = error;  // "localhost" may have an IPv6 address that the kernel does not support.
    } else if (error != 0) {
      return ExplainBindError(error,
                              {.host = HostOf(*entry), .port = port_ == 0 ? address.port : port_});
    }
  }
  return sockets_.empty() ? ExplainBindError(lacking, address) : absl::OkStatus();
}

// Adds a socket for `entry`. Returns 0 or errno.
int Listener::Add(const addrinfo& entry) {
  UniqueFd fd(socket(entry.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return errno;
  SetUp(fd.get());
  sockaddr_storage bound{};
  std::memcpy(&bound, entry.ai_addr, entry.ai_addrlen);
  // The further addresses of a host take the port that the first one got.
  const uint16_t port = htons(port_);
  if (port_ != 0 && entry.ai_family == AF_INET) {
    reinterpret_cast<sockaddr_in&>(bound).sin_port = port;
  }
  if (port_ != 0 && entry.ai_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(bound).sin6_port = port;
  }
  if (bind(fd.get(), reinterpret_cast<sockaddr*>(&bound), entry.ai_addrlen) != 0 ||
      listen(fd.get(), SOMAXCONN) != 0) {
    return errno;
  }
  port_ = LocalPort(fd.get());
  sockets_.push_back(std::move(fd));
  return 0;
}

Listener::~Listener() {
  eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) thread_.join();
}

absl::Status Listener::Start(ListenerOptions options, HandOver hand_over) {
  options_ = options;
  hand_over_ = std::move(hand_over);
  PENSTOCK_ASSIGN_OR_RETURN(thread_, StartThread("that accepts connections", [this] { Run(); }));
  return absl::OkStatus();
}

void Listener::Run() {
  std::vector<pollfd> polled;
  while (true) {
    polled.assign(1, {wake_.get(), POLLIN, 0});
    for (const UniqueFd& socket : sockets_) polled.push_back({socket.get(), POLLIN, 0});
    for (const Silent& silent : silent_) polled.push_back({silent.connection.get(), POLLIN, 0});
    poll(polled.data(), polled.size(), TimeoutMs());
    if (polled[0].revents != 0) return;
    const size_t first_silent = 1 + sockets_.size();
    for (size_t i = 0; i < silent_.size(); ++i) {
      if (polled[first_silent + i].revents != 0) Meet(silent_[i]);
    }
    DropSilent();
    for (size_t i = 0; i < sockets_.size(); ++i) {
      if (polled[1 + i].revents != 0) Accept(sockets_[i].get());
    }
  }
}

int Listener::TimeoutMs() const {
  if (silent_.empty()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(silent_[0].until - Clock::now());
  return static_cast<int>(std::max<int64_t>(left.count(), 0));
}

void Listener::Accept(int listener) {
  UniqueFd connection(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!connection.valid()) {
    const int error = errno;
    if (error == EMFILE || error == ENFILE) RefuseOne(listener);
    OnAcceptError(error);
    return;
  }
  if (!HasRoom(connection.get())) return;
  std::string peer = PeerOf(connection.get());
  const bool full = IsFull();
  if (full && silent_.empty()) return SayFull(peer);
  // If there is no room, close the oldest silent connection. A client that has something to send
  // has sent it by now.
  if (full || silent_.size() >= kMaxSilent) silent_.erase(silent_.begin());
  silent_.push_back({std::move(connection), std::move(peer), Clock::now() + kPatience});
}

// The kernel gives out the lowest free number, so a high number tells how many are in use.
bool Listener::HasRoom(int descriptor) {
  const uint64_t limit = DescriptorLimit();
  const uint64_t kept = std::min<uint64_t>(limit / 8, 64);
  if (static_cast<uint64_t>(descriptor) + kept < limit) return true;
  OnAcceptError(EMFILE);
  return false;
}

bool Listener::IsFull() {
  if (options_.max_connections == ListenerOptions::kAnyNumber) return false;
  return silent_.size() + handed_over_.Count() >= options_.max_connections;
}

void Listener::SayFull(const std::string& peer) {
  if (std::optional<uint64_t> left_out = log_.Allow("full")) {
    LogWarning(
        "connection refused peer={} cause=\"{} connections are open, the limit of this port\" "
        "left_out={}",
        peer, options_.max_connections, *left_out);
  }
}

void Listener::RefuseOne(int listener) {
  spare_.Reset();
  const UniqueFd refused(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  // Another thread may have accepted the connection. Rest, so that poll() does not spin.
  if (!refused.valid()) Rest();
  spare_ = OpenSpare();
}

void Listener::Rest() {
  pollfd wake{wake_.get(), POLLIN, 0};
  poll(&wake, 1, 100);
}

void Listener::OnAcceptError(int error) {
  if (error == EAGAIN || error == EINTR || error == ECONNABORTED) return;
  if (error != EMFILE) Rest();  // The error is mostly a lack of memory.
  std::optional<uint64_t> left_out = log_.Allow(error == EMFILE ? "descriptors" : "accept");
  if (!left_out.has_value()) return;
  if (error == EMFILE) {
    LogError(
        "out of descriptors limit={} left_out={} effect=\"new connections are closed\" "
        "cure=\"raise LimitNOFILE (ulimit -n)\"",
        DescriptorLimit(), *left_out);
  } else {
    LogError("cannot accept connections error={} left_out={}", Quoted(strerrordesc_np(error)),
             *left_out);
  }
}

void Listener::Meet(Silent& silent) {
  UniqueFd connection = std::move(silent.connection);
  uint8_t first = 0;
  // The peer has closed without sending a byte.
  if (recv(connection.get(), &first, 1, MSG_PEEK) != 1) return;
  if (options_.speaks_tls && first == kHttp2) {
    CountFailedHandshake();
    if (std::optional<uint64_t> left_out = log_.Allow("plain")) {
      LogWarning(
          "connection refused peer={} cause=\"the client speaks plaintext, this port speaks TLS: "
          "start the client with --tls\" left_out={}",
          silent.peer, *left_out);
    }
    return;
  }
  if (!options_.speaks_tls && first == kTlsHandshake) {
    CountFailedHandshake();
    if (std::optional<uint64_t> left_out = log_.Allow("tls")) {
      LogWarning(
          "connection refused peer={} cause=\"the client speaks TLS, this port speaks plaintext: "
          "{}\" left_out={}",
          silent.peer, options_.cure_of_tls, *left_out);
    }
    // The connection is still handed over: gRPC answers in plaintext, which tells the client what
    // is wrong.
  }
  // gRPC's message about a failed handshake does not name the client.
  if (options_.speaks_tls) LogDebug("tls handshake begins peer={}", silent.peer);
  if (options_.max_connections != ListenerOptions::kAnyNumber) handed_over_.Add(connection.get());
  hand_over_(std::move(connection));
}

void Listener::DropSilent() {
  const Clock::time_point now = Clock::now();
  std::erase_if(silent_, [now](const Silent& silent) {
    return !silent.connection.valid() || silent.until <= now;
  });
}

}  // namespace penstock
