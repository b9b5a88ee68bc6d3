// Channels to one server, with the credentials of the moment.
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

// Looks at the files of `options` for each stream: after a change, new streams get a new
// connection, those that are open keep theirs. Files that cannot be used, as a certificate whose
// key has not come yet, leave what was there before. Thread-safe.
class ServerChannel {
 public:
  ServerChannel(std::string address, NetworkOptions options);

  const std::string& address() const { return address_; }
  const NetworkOptions& options() const { return options_; }

  struct Way {
    std::shared_ptr<grpc::Channel> channel;
    std::string token;  // Empty: none. For the metadata "authorization: Bearer TOKEN".
  };
  // At first the errors of LoadPemFiles(), which names the file, and of ReadTokenFile().
  // kUnauthenticated: the token would travel in plaintext.
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

// The token in the first line of `path` that is neither empty nor begins with #.
// kInvalidArgument: it has none, or one of more than 4096 bytes or of other than visible ASCII.
absl::StatusOr<std::string> ReadTokenFile(const std::string& path);

PemPaths PathsOf(const TlsOptions& tls);

// HOST:PORT that this machine alone can be behind: 127.0.0.0/8, [::1] and localhost.
bool IsLoopbackAddress(absl::string_view address);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_GRPC_SERVER_CHANNEL_H_
