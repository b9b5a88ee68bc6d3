// A port of the server. Accepts connections, and checks each one before gRPC gets it.
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

// Counts the connections that gRPC was given and that are still open, because gRPC does not report
// when it closes one. Not thread-safe.
class OpenConnections {
 public:
  // REQUIRES: the caller still owns the socket.
  void Add(int socket) { sockets_.emplace_back(socket); }

  // Asks the kernel about each connection.
  size_t Count() {
    std::erase_if(sockets_, [](const WatchedSocket& socket) { return !socket.IsOpen(); });
    return sockets_.size();
  }

 private:
  std::vector<WatchedSocket> sockets_;
};

struct ListenerOptions {
  static constexpr size_t kAnyNumber = SIZE_MAX;

  // Whether the port speaks TLS. The listener reports clients that do not match.
  bool speaks_tls = false;
  // Advice for a client that speaks TLS to a plaintext port.
  const char* cure_of_tls =
      "give this server --tls-cert and --tls-key, or start the client without --tls";
  // Maximum number of open connections, including those that gRPC has. Beyond it, the listener
  // closes the oldest one that has sent nothing or, if there is none, the new one.
  size_t max_connections = kAnyNumber;
};

// gRPC 1.51 could listen by itself. But it stops for good when accept() fails once, as at the limit
// of descriptors, and it does not report that a client spoke TLS to a plaintext port.
//
// A connection is handed over with its first byte. Until then it is one of at most kMaxSilent, for
// at most 10 s. At the limit of descriptors new connections are closed, with a log line, until
// there is room again: the last descriptors are for the shards of the clients that are connected.
// Thread-safe.
class Listener {
 public:
  static constexpr size_t kMaxSilent = 256;

  // Receives connections, on the listener's thread.
  using HandOver = std::function<void(UniqueFd connection)>;

  // Binds every address of the host, except those that the kernel or this machine lacks. Fails as
  // ResolveListenHost() and ExplainBindError() do.
  static absl::StatusOr<std::unique_ptr<Listener>> Bind(const ListenAddress& address);
  // `found` has the resolved addresses of the host.
  static absl::StatusOr<std::unique_ptr<Listener>> Bind(const ListenAddress& address,
                                                        const addrinfo* found);
  // Stops accepting connections.
  ~Listener();

  uint16_t port() const { return port_; }

  // Call it once. kResourceExhausted: a thread could not be started.
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
  // Called when the connection has sent its first byte, or has closed.
  void Meet(Silent& silent);
  void DropSilent();

  std::vector<UniqueFd> sockets_;
  uint16_t port_ = 0;
  UniqueFd wake_;
  // A spare descriptor. It is closed for a moment to accept, and close, a connection for which
  // there is no room.
  UniqueFd spare_;
  ListenerOptions options_;
  HandOver hand_over_;
  LogLimiter log_;
  std::vector<Silent> silent_;   // The oldest one is first.
  OpenConnections handed_over_;  // Counted only if there is a limit.
  std::jthread thread_;          // Last member: it uses all of the above.
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_LISTENER_H_
