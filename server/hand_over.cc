#include "server/hand_over.h"

#include <utility>

#include "grpcpp/grpcpp.h"

namespace penstock {

Listener::HandOver HandOverTo(grpc::ServerBuilder& builder,
                              const std::shared_ptr<grpc::ServerCredentials>& credentials,
                              const GuardedPort& port) {
  std::shared_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor =
      builder.experimental().AddExternalConnectionAcceptor(
          grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials);
  const auto to_grpc = [acceptor](UniqueFd connection) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
    parameters.fd = connection.Release();
    acceptor->HandleNewConnection(&parameters);
  };
  return [port, to_grpc](UniqueFd connection) { port.Enter(std::move(connection), to_grpc); };
}

}  // namespace penstock
