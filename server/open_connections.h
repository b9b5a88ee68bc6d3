// Which connections that gRPC was given are still open: it tells nobody when it closes one.
#ifndef PENSTOCK_SERVER_OPEN_CONNECTIONS_H_
#define PENSTOCK_SERVER_OPEN_CONNECTIONS_H_

#include <cstddef>
#include <vector>

#include "server/guard/watched_socket.h"

namespace penstock {

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

}  // namespace penstock

#endif  // PENSTOCK_SERVER_OPEN_CONNECTIONS_H_
