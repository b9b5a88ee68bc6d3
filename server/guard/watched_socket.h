// A TCP connection that belongs to other code, which may close it at any time.
#ifndef PENSTOCK_SERVER_GUARD_WATCHED_SOCKET_H_
#define PENSTOCK_SERVER_GUARD_WATCHED_SOCKET_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace penstock {

struct TcpTotals {
  uint64_t received_bytes = 0;
  uint64_t acknowledged_bytes = 0;
};

// Identifies the connection by descriptor number and inode, because another connection may soon
// have the number. Holds no descriptor of its own: a duplicate would keep the connection open.
// Immutable, copyable.
class WatchedSocket {
 public:
  WatchedSocket() = default;
  // REQUIRES: the caller still owns `socket`.
  explicit WatchedSocket(int socket);

  int number() const { return number_; }
  bool IsOpen() const;
  // Returns the totals, or nullopt if the connection was closed or is not TCP.
  std::optional<TcpTotals> ReadTotals() const;
  // Sets how many bytes the kernel may receive before they are read.
  void SetReceiveBuffer(int bytes) const;
  // Resets the connection and drops what was received and not read. Its owner gets ECONNRESET.
  void Abort() const;

 private:
  int number_ = -1;
  ino_t inode_ = 0;
};

struct PeerName {
  std::string peer;  // The name that gRPC uses.
  std::string host;  // The same name without the port.
};

// Both names are "unknown" if the socket is not connected over IP.
PeerName PeerNameOf(int socket);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_GUARD_WATCHED_SOCKET_H_
