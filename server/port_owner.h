// Who listens on a TCP port of this machine.
#ifndef PENSTOCK_SERVER_PORT_OWNER_H_
#define PENSTOCK_SERVER_PORT_OWNER_H_

#include <cstdint>
#include <string>

namespace penstock {

// "penstock-server (process 4711)", from /proc. Empty when nobody listens there or the process is
// another user's. For error messages.
std::string DescribePortOwner(uint16_t port);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_PORT_OWNER_H_
