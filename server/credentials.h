// TLS on the server's port.
#ifndef PENSTOCK_SERVER_CREDENTIALS_H_
#define PENSTOCK_SERVER_CREDENTIALS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "base/tls/pem_files.h"
#include "grpcpp/security/server_credentials.h"

namespace penstock {

// Makes the credentials. With `files.ca`, a client must have a certificate signed by one of these
// CAs. The files are checked for each new connection. If they have changed, the new contents are
// used; if they cannot be used, this is logged and the old contents stay in use. Warnings are
// logged. The result must outlive the grpc::Server.
//
// Fails as LoadPemFiles() does.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeTlsCredentials(PemPaths files);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_CREDENTIALS_H_
