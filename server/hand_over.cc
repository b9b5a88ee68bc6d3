#include "server/hand_over.h"

#include "grpcpp/grpcpp.h"

namespace penstock {

Listener::HandOver HandOverTo(grpc::ServerBuilder& builder,
                              const std::shared_ptr<grpc::ServerCredentials>& credentials) {
  std::shared_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor =
      builder.experimental().AddExternalConnectionAcceptor(
          grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials);
  return [acceptor](UniqueFd connection) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
    parameters.fd = connection.Release();
    acceptor->HandleNewConnection(&parameters);
  };
}

}  // namespace penstock
