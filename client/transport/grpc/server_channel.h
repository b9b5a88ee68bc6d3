// Channels to one server, with the current credentials.
#ifndef PENSTOCK_CLIENT_TRANSPORT_GRPC_SERVER_CHANNEL_H_
#define PENSTOCK_CLIENT_TRANSPORT_GRPC_SERVER_CHANNEL_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/tls/pem_files.h"
#include "client/transport/network_options.h"
#include "grpcpp/channel.h"

namespace penstock {

// Looks at the files of `options` for each stream. After a change, new streams get a new
// connection, and open streams keep theirs. If a file cannot be used, such as a certificate whose
// key has not been replaced yet, the previous contents stay in use. Thread-safe.
class ServerChannel {
 public:
  ServerChannel(std::string address, NetworkOptions options);

  const std::string& address() const { return address_; }
  const NetworkOptions& options() const { return options_; }

  struct Way {
    std::shared_ptr<grpc::Channel> channel;
    // Sent as the metadata "authorization: Bearer TOKEN". If it is empty, no token is sent.
    std::string token;
  };
  // Returns the channel and token for a new stream. Fails only if there are no previous ones to
  // fall back on. The errors are those of LoadPemFiles(), which names the file, and of
  // ReadTokenFile(). kUnauthenticated: the token would travel in plaintext.
  absl::StatusOr<Way> Get();

 private:
  absl::Status ReadChannel() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status ReadToken() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string address_;
  const NetworkOptions options_;
  Mutex mutex_;
  PemWatcher pem_files_ ABSL_GUARDED_BY(mutex_);
  Way way_ ABSL_GUARDED_BY(mutex_);
};

// Returns the first line of `path` that is neither empty nor begins with #. kInvalidArgument: there
// is none, it has more than 4096 bytes, or it is not visible ASCII. Other errors as
// FileSource::Open().
absl::StatusOr<std::string> ReadTokenFile(const std::string& path);

PemPaths PathsOf(const TlsOptions& tls);

// Whether HOST:PORT can only be this machine: 127.0.0.0/8, [::1] and localhost.
bool IsLoopbackAddress(absl::string_view address);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_GRPC_SERVER_CHANNEL_H_
