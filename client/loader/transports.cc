#include "client/loader/transports.h"

#include "client/servers/server_list.h"
#include "client/transport/local/local_transport.h"

namespace penstock {

TransportFactory MakeTransportFactory(const EngineOptions& local, const NetworkOptions& network) {
  return [local, network](const std::string& address) {
    return address == kLocalServer ? MakeLocalTransport(local)
                                   : MakeNetworkTransport(address, network);
  };
}

}  // namespace penstock
