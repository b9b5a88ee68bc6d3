// One look at where the servers are.
#ifndef PENSTOCK_CLIENT_SERVERS_SERVER_LOOK_H_
#define PENSTOCK_CLIENT_SERVERS_SERVER_LOOK_H_

#include <stop_token>

#include "client/servers/server_source.h"

namespace penstock {

// Used by one thread. Not thread-safe.
class ServerLook {
 public:
  virtual ~ServerLook() = default;
  // May block; returns soon, with anything, once `stop` is requested.
  virtual ServerSet Look(const std::stop_token& stop) = 0;
  // Readable when there may be something new, until the next Look(); -1: this one cannot tell.
  virtual int descriptor() const { return -1; }
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SERVERS_SERVER_LOOK_H_
