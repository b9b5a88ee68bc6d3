#include "metrics/http_port.h"

#include <netdb.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/io/local_port.h"
#include "base/process/start_thread.h"
#include "base/status.h"

namespace penstock {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

absl::StatusOr<Addresses> Resolve(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (error == 0) return Addresses(found, &freeaddrinfo);
  return absl::UnavailableError(
      absl::StrCat("the host cannot be resolved: ",
                   error == EAI_SYSTEM ? strerrordesc_np(errno) : gai_strerror(error)));
}

absl::Status ExplainError(int error) {
  if (error == EADDRINUSE) return absl::UnavailableError("the port is in use");
  if (error == EADDRNOTAVAIL) return absl::UnavailableError("the address is not this machine's");
  return absl::UnavailableError(strerrordesc_np(error));
}

// On failure the descriptor is not valid, and errno says why.
UniqueFd ListenOn(const addrinfo& address) {
  UniqueFd fd(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return fd;
  const int yes = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const bool listens =
      bind(fd.get(), address.ai_addr, address.ai_addrlen) == 0 && listen(fd.get(), SOMAXCONN) == 0;
  return listens ? std::move(fd) : UniqueFd();
}

// Listens on the first address that this machine has. IPv4 comes before IPv6.
absl::StatusOr<UniqueFd> ListenOnFirst(const addrinfo* found) {
  int lacking = EADDRNOTAVAIL;
  for (const int family : {AF_INET, AF_INET6}) {
    for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
      if (address->ai_family != family) continue;
      UniqueFd listener = ListenOn(*address);
      if (listener.valid()) return listener;
      lacking = errno;
      if (lacking != EADDRNOTAVAIL && lacking != EAFNOSUPPORT) return ExplainError(lacking);
    }
  }
  return ExplainError(lacking);
}

std::string HostOf(const sockaddr_storage& peer, socklen_t size) {
  char host[NI_MAXHOST] = "";
  getnameinfo(reinterpret_cast<const sockaddr*>(&peer), size, host, sizeof host, nullptr, 0,
              NI_NUMERICHOST);
  return host;
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpPort>> HttpPort::Listen(const std::string& host,
                                                           const std::string& port,
                                                           HttpConnection::Answer answer) {
  PENSTOCK_ASSIGN_OR_RETURN(const Addresses found, Resolve(host, port));
  PENSTOCK_ASSIGN_OR_RETURN(UniqueFd listener, ListenOnFirst(found.get()));
  std::unique_ptr<HttpPort> opened(new HttpPort(std::move(listener), std::move(answer)));
  PENSTOCK_ASSIGN_OR_RETURN(
      opened->thread_, StartThread("that serves metrics", [port = opened.get()] { port->Run(); }));
  return opened;
}

HttpPort::HttpPort(UniqueFd listener, HttpConnection::Answer answer)
    : listener_(std::move(listener)),
      wake_(eventfd(0, EFD_CLOEXEC)),
      port_(LocalPort(listener_.get())),
      answer_(std::move(answer)) {}

HttpPort::~HttpPort() {
  eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) thread_.join();
}

// Accepts one connection in each round, so that connections are read before they can be replaced.
void HttpPort::Run() {
  std::vector<pollfd> polled;
  while (true) {
    polled.assign({{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}});
    for (const HttpConnection& connection : connections_) {
      polled.push_back({connection.socket(), connection.events(), 0});
    }
    poll(polled.data(), polled.size(), TimeoutMs());
    if (polled[0].revents != 0) return;
    Advance(polled);
    if (polled[1].revents != 0) Accept();
  }
}

int HttpPort::TimeoutMs() const {
  if (connections_.empty()) return -1;
  const auto next = std::ranges::min_element(connections_, {}, &HttpConnection::until)->until();
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(next - HttpConnection::Clock::now());
  return static_cast<int>(std::max<int64_t>(left.count(), 0));
}

void HttpPort::Advance(const std::vector<pollfd>& polled) {
  const size_t first = polled.size() - connections_.size();
  for (size_t i = 0; i < connections_.size(); ++i) {
    if (polled[first + i].revents != 0) connections_[i].Advance(answer_);
  }
  // This also closes connections that have just sent something: a request may not come byte by byte
  // for ever.
  const auto now = HttpConnection::Clock::now();
  std::erase_if(connections_, [now](const HttpConnection& connection) {
    return !connection.is_open() || connection.until() <= now;
  });
}

void HttpPort::Accept() {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  UniqueFd socket(accept4(listener_.get(), reinterpret_cast<sockaddr*>(&peer), &size,
                          SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket.valid()) return OnAcceptError(errno);
  if (connections_.size() == kMaxConnections) DropOne();
  connections_.emplace_back(std::move(socket), HostOf(peer, size));
}

// When descriptors or memory are used up, poll() would report the same connection again at once. So
// this waits.
void HttpPort::OnAcceptError(int error) {
  if (error == EAGAIN || error == EINTR || error == ECONNABORTED) return;
  pollfd wake{wake_.get(), POLLIN, 0};
  poll(&wake, 1, 100);
}

void HttpPort::DropOne() {
  const auto number_of_host = [this](const HttpConnection& connection) {
    return std::ranges::count(connections_, connection.host(), &HttpConnection::host);
  };
  connections_.erase(std::ranges::max_element(connections_, {}, number_of_host));
}

}  // namespace penstock
