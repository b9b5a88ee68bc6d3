#include "trainer/comm/gloo_communicator.h"
#include "trainer/comm/tcp_way.h"

namespace penstock {

TcpWay TcpWayOfThisBuild() { return {"Gloo", ConnectGloo}; }

}  // namespace penstock
