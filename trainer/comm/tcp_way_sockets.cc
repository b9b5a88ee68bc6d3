#include "trainer/comm/socket_communicator.h"
#include "trainer/comm/tcp_way.h"

namespace penstock {

TcpWay TcpWayOfThisBuild() { return {kSocketsName, ConnectSockets}; }

}  // namespace penstock
