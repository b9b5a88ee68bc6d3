// The server's port: accepts connections and looks at who comes before gRPC does.
#ifndef PENSTOCK_SERVER_LISTENER_H_
#define PENSTOCK_SERVER_LISTENER_H_

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "records/io/unique_fd.h"
#include "server/listen_address.h"
#include "server/log_limiter.h"

namespace penstock {

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

  // Every address that the host has. kUnavailable, kInvalidArgument as ProbeListenAddress() says.
  static absl::StatusOr<std::unique_ptr<Listener>> Bind(const ListenAddress& address);
  // Accepts no more.
  ~Listener();

  uint16_t port() const { return port_; }

  // Once. `speaks_tls`: of the port, to tell a client that comes the other way.
  void Start(bool speaks_tls, HandOver hand_over);

 private:
  using Clock = std::chrono::steady_clock;
  struct Silent {
    UniqueFd connection;
    std::string peer;
    Clock::time_point until;
  };

  Listener() = default;
  absl::Status Add(int family, const void* address, size_t size);
  void Run();
  int TimeoutMs() const;
  void Accept(int listener);
  void OnAcceptError(int error);
  bool HasRoom(int descriptor);
  void RefuseOne(int listener);
  void Rest();
  // What was said first, or nothing more will be.
  void Meet(Silent& silent);
  void DropSilent();

  std::vector<UniqueFd> sockets_;
  uint16_t port_ = 0;
  UniqueFd wake_;
  UniqueFd spare_;  // Given up for a moment to accept, and close, one that there is no room for.
  bool speaks_tls_ = false;
  HandOver hand_over_;
  LogLimiter log_;
  std::vector<Silent> silent_;  // Oldest first.
  std::jthread thread_;         // Last: it uses all of the above.
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_LISTENER_H_
