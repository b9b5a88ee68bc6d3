// Looks for servers once.
#ifndef PENSTOCK_CLIENT_SERVERS_SERVER_LOOK_H_
#define PENSTOCK_CLIENT_SERVERS_SERVER_LOOK_H_

#include <stop_token>

#include "client/servers/server_source.h"

namespace penstock {

// Used by one thread at a time. Not thread-safe.
class ServerLook {
 public:
  virtual ~ServerLook() = default;
  // May block. Once `stop` is requested it returns soon, with any result.
  virtual ServerSet Look(const std::stop_token& stop) = 0;
  // A descriptor that becomes readable when there may be something new, until the next Look(); -1
  // if this look cannot tell.
  virtual int descriptor() const { return -1; }
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SERVERS_SERVER_LOOK_H_
