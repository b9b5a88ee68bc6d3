// TLS on the server's port.
#ifndef PENSTOCK_SERVER_CREDENTIALS_H_
#define PENSTOCK_SERVER_CREDENTIALS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "base/tls/pem_files.h"
#include "grpcpp/security/server_credentials.h"

namespace penstock {

// With `files.ca` a client must have a certificate that it signed. The files are looked at for each
// new connection: what has changed is used from then on, what cannot be used is logged and what was
// there before goes on. Must outlive the grpc::Server. Warnings are logged.
//
// The errors of LoadPemFiles().
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeTlsCredentials(PemPaths files);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_CREDENTIALS_H_
