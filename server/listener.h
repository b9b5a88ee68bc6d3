// A port of the server: accepts connections and looks at who comes before gRPC does.
#ifndef PENSTOCK_SERVER_LISTENER_H_
#define PENSTOCK_SERVER_LISTENER_H_

#include <netdb.h>
#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "base/io/unique_fd.h"
#include "server/guard/watched_socket.h"
#include "server/listen_address.h"
#include "server/log_limiter.h"

namespace penstock {

// Which connections that gRPC was given are still open: it tells nobody when it closes one.
// Not thread-safe.
class OpenConnections {
 public:
  // REQUIRES: a socket that this thread still owns.
  void Add(int socket) { sockets_.emplace_back(socket); }

  // Asks the kernel for each.
  size_t Count() {
    std::erase_if(sockets_, [](const WatchedSocket& socket) { return !socket.IsOpen(); });
    return sockets_.size();
  }

 private:
  std::vector<WatchedSocket> sockets_;
};

struct ListenerOptions {
  static constexpr size_t kAnyNumber = SIZE_MAX;

  // Of the port, to tell a client that comes the other way.
  bool speaks_tls = false;
  // For a client that speaks TLS to a plain port.
  const char* cure_of_tls =
      "give this server --tls-cert and --tls-key, or start the client without --tls";
  // That are open, those with gRPC among them. Beyond it the oldest that has said nothing is
  // closed, or else the new one.
  size_t max_connections = kAnyNumber;
};

// gRPC 1.51 would listen by itself, but stops for good when accept() fails once, as it does at the
// limit of descriptors; and it tells nobody that a client spoke TLS to a plain port.
//
// A connection is handed over with its first byte; until then it is one of at most kMaxSilent, for
// at most 10 s. At the limit of descriptors new connections are closed, with a log line, and kept
// again as soon as there is room: the last descriptors are for the shards of those who are here.
// Thread-safe.
class Listener {
 public:
  static constexpr size_t kMaxSilent = 256;

  // Gets connections, on the listener's thread.
  using HandOver = std::function<void(UniqueFd connection)>;

  // Every address that the host has, but those that the kernel or this machine lacks. Errors as
  // ResolveListenHost() and ExplainBindError() say.
  static absl::StatusOr<std::unique_ptr<Listener>> Bind(const ListenAddress& address);
  // `found`: what the host was resolved to.
  static absl::StatusOr<std::unique_ptr<Listener>> Bind(const ListenAddress& address,
                                                        const addrinfo* found);
  // Accepts no more.
  ~Listener();

  uint16_t port() const { return port_; }

  // Once. kResourceExhausted: a thread could not be started.
  absl::Status Start(ListenerOptions options, HandOver hand_over);

 private:
  using Clock = std::chrono::steady_clock;
  struct Silent {
    UniqueFd connection;
    std::string peer;
    Clock::time_point until;
  };

  Listener() = default;
  absl::Status AddAll(const ListenAddress& address, const addrinfo* found);
  int Add(const addrinfo& entry);
  void Run();
  int TimeoutMs() const;
  void Accept(int listener);
  void OnAcceptError(int error);
  bool HasRoom(int descriptor);
  bool IsFull();
  void SayFull(const std::string& peer);
  void RefuseOne(int listener);
  void Rest();
  // What was said first, or nothing more will be.
  void Meet(Silent& silent);
  void DropSilent();

  std::vector<UniqueFd> sockets_;
  uint16_t port_ = 0;
  UniqueFd wake_;
  UniqueFd spare_;  // Given up for a moment to accept, and close, one that there is no room for.
  ListenerOptions options_;
  HandOver hand_over_;
  LogLimiter log_;
  std::vector<Silent> silent_;   // Oldest first.
  OpenConnections handed_over_;  // Counted where there is a limit.
  std::jthread thread_;          // Last: it uses all of the above.
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_LISTENER_H_
