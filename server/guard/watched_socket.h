// A TCP connection that belongs to somebody else, who may close it at any time.
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

// Knows the connection by number and inode, for the number may be another's soon. Holds no
// descriptor of its own: a duplicate would keep the connection open. Copyable.
class WatchedSocket {
 public:
  WatchedSocket() = default;
  // REQUIRES: the caller owns `socket` still.
  explicit WatchedSocket(int socket);

  int number() const { return number_; }
  bool IsOpen() const;
  // Nothing: it was closed, or is no TCP connection.
  std::optional<TcpTotals> ReadTotals() const;
  // Bounds what the kernel takes in unread.
  void SetReceiveBuffer(int bytes) const;
  // Resets the connection, and drops what was received and not read: its owner gets ECONNRESET.
  void Abort() const;

 private:
  int number_ = -1;
  ino_t inode_ = 0;
};

struct PeerName {
  std::string peer;  // As gRPC names it.
  std::string host;  // The same without the port.
};

// "unknown" twice for what is no connection over IP.
PeerName PeerNameOf(int socket);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_GUARD_WATCHED_SOCKET_H_
