// A preprocessing server in this process. penstock-server and tests run it.
#ifndef PENSTOCK_SERVER_SERVER_H_
#define PENSTOCK_SERVER_SERVER_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/io/root.h"
#include "base/mutex.h"
#include "proto/pieces.pb.h"
#include "records/engine/engine_options.h"
#include "server/guard/guard_limits.h"
#include "server/service_limits.h"
#include "server/session_source.h"

namespace grpc {
class Server;
class ServerCredentials;
}  // namespace grpc

namespace penstock {

class ConnectionGuard;
class HealthPort;
class Gate;
class CallRouter;
class HealthService;
class Listener;
class PieceService;
class RequiredData;
class SharedMemoryDoor;

struct ServerOptions {
  // HOST:PORT; port 0 takes a free port. An address that other machines can reach needs TLS, or
  // `insecure` without tokens: tokens travel in plaintext only on loopback.
  std::string listen = "127.0.0.1:7070";
  // HOST:PORT of a second listener for health only, in plaintext. If it is empty, there is none.
  std::string health_listen = {};
  // The folder beneath which shards and manifests are.
  std::string data_root;
  uint32_t threads = 0;  // Threads of the engine; 0 means the cores this process may use.
  // Additional threads for slow storage.
  uint32_t read_threads = EngineOptions().read_threads;
  // Bytes for data and client requests; 0 means the engine's default.
  uint64_t memory_budget = 0;
  // Bytes of memory_budget for decoded rows that streams share.
  uint64_t strip_cache = EngineOptions().strip_cache;
  bool insecure = false;
  // PEM files of the server's certificate and its key. If they are empty, the port is in plaintext.
  // With `tls_client_ca` clients must have a certificate signed by one of these CAs. The files are
  // read again when they change.
  std::string tls_cert = {};
  std::string tls_key = {};
  std::string tls_client_ca = {};
  // File of bearer tokens (server/tokens.h). If it is empty, no token is required. It is read again
  // when it changes.
  std::string token_file = {};
  // Manifests, as paths beneath the root. Health is NOT_SERVING while one of their shards is
  // missing or has another size than the manifest says.
  std::vector<std::string> require = {};
  ServiceLimits limits = {};
  GuardLimits guard = {};
  // The Unix socket from which clients of this machine fetch shared memory. This user may connect
  // to it, and the group `shm_group` if given. If it is empty, parts travel inside the stream.
  std::string shm_socket = {};
  std::string shm_group = {};

  // kInvalidArgument: the message names the option and says what to give it.
  absl::Status Validate() const;
};

// Serves from Start() until the grace of Drain() has passed, or until Stop(). The destructor stops
// it at once. Thread-safe.
class Server {
 public:
  // Starts the server. Errors, in addition to those of Validate():
  //   kNotFound, kPermissionDenied  the data root, a TLS file or the token file cannot be read
  //   kInvalidArgument              the contents of such a file are wrong
  //   kUnavailable                  the address is in use
  //   kResourceExhausted            no thread could be started, or a limit of the system is too low
  static absl::StatusOr<std::unique_ptr<Server>> Start(ServerOptions options);
  // Starts the server with another engine than the real one.
  static absl::StatusOr<std::unique_ptr<Server>> Start(ServerOptions options,
                                                       std::unique_ptr<SessionSource> sessions);
  ~Server();

  // The address at which it listens: "127.0.0.1:41234" for "127.0.0.1:0".
  const std::string& address() const { return address_; }
  // The address of health_listen; empty without it.
  const std::string& health_address() const;
  // The options as Start() completed them.
  const ServerOptions& options() const { return options_; }
  size_t num_streams() const;
  // The answer to the Stats call, with the connections of the guard.
  v1::ServerStats stats() const;

  // Sets health to NOT_SERVING, tells every stream, and refuses new ones. The server ends when its
  // streams have ended, at the latest after `grace`. Returns at once. Only the first call counts.
  void Drain(absl::Duration grace);
  // Ends every stream now.
  void Stop();
  // Blocks until the server has ended.
  void Wait();

 private:
  Server(ServerOptions options, Root root, std::unique_ptr<SessionSource> sessions,
         std::unique_ptr<ConnectionGuard> guard);
  absl::Status OpenDoor();
  absl::Status Listen(const std::string& address);
  absl::Status LoadCredentials();
  absl::Status WatchRequiredData();
  // Sets health according to draining_ and lacks_data_.
  void UpdateHealth() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the gRPC server when it is time.
  void RunUntilEnd();

  const ServerOptions options_;
  const Root root_;
  const std::unique_ptr<SessionSource> sessions_;
  const std::unique_ptr<ConnectionGuard> guard_;  // Serves all ports.
  const std::unique_ptr<HealthService> health_;
  const std::unique_ptr<CallRouter> router_;
  std::unique_ptr<HealthPort> health_port_;  // Null if health_listen is empty.
  std::unique_ptr<Gate> gate_;
  std::unique_ptr<SharedMemoryDoor> door_;  // May be null.
  std::unique_ptr<PieceService> service_;
  // Shared with gRPC, which may be destroyed first.
  std::shared_ptr<grpc::ServerCredentials> credentials_;
  std::unique_ptr<grpc::Server> grpc_;
  std::unique_ptr<Listener> listener_;
  std::string address_;

  Mutex mutex_;
  CondVar changed_;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool lacks_data_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::chrono::steady_clock::time_point drain_deadline_ ABSL_GUARDED_BY(mutex_);
  std::jthread ender_;
  std::unique_ptr<RequiredData> required_data_;  // Null without `require`.
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_SERVER_H_
