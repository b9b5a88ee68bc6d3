// A preprocessing server in this process: what penstock-server runs, and tests.
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
class SharedMemoryDoor;

struct ServerOptions {
  // HOST:PORT; port 0 takes a free one. An address that other machines reach needs TLS, or
  // `insecure` and no tokens: those travel in plaintext on loopback only.
  std::string listen = "127.0.0.1:7070";
  // HOST:PORT of a second listener for health alone, in plaintext; empty: none.
  std::string health_listen = {};
  // Folder that shards and manifests lie beneath.
  std::string data_root;
  uint32_t threads = 0;  // Of the engine; 0: the cores this process may use.
  uint32_t read_threads = EngineOptions().read_threads;  // Beside them, for slow storage.
  uint64_t memory_budget = 0;  // Bytes of chunks and windows; 0: the engine's default.
  uint64_t strip_cache = EngineOptions().strip_cache;  // Of these, for rows that streams share.
  bool insecure = false;
  // PEM files of the server's certificate and its key; empty: plaintext. With `tls_client_ca`
  // clients must have a certificate that one of those CAs signed. Read again when they change.
  std::string tls_cert = {};
  std::string tls_key = {};
  std::string tls_client_ca = {};
  // Bearer tokens (server/tokens.h); empty: anyone may ask. Read again when it changes.
  std::string token_file = {};
  ServiceLimits limits = {};
  GuardLimits guard = {};
  // Where clients of this machine fetch shared memory: a Unix socket that this user, and the group
  // of this name if given, may connect to. Empty: parts travel inside the stream.
  std::string shm_socket = {};
  std::string shm_group = {};

  // kInvalidArgument names the option and what to give it.
  absl::Status Validate() const;
};

// Serves from Start() until Drain()'s grace has passed or Stop(). The destructor stops at once.
// Thread-safe.
class Server {
 public:
  // kNotFound, kPermissionDenied: the data root, a TLS or token file. kInvalidArgument: what is in
  // such a file, too. kUnavailable: the address is in use. kResourceExhausted: a thread could not
  // be started.
  static absl::StatusOr<std::unique_ptr<Server>> Start(ServerOptions options);
  // With another engine than the real one.
  static absl::StatusOr<std::unique_ptr<Server>> Start(ServerOptions options,
                                                       std::unique_ptr<SessionSource> sessions);
  ~Server();

  // Where it listens: "127.0.0.1:41234" for "127.0.0.1:0".
  const std::string& address() const { return address_; }
  // The same of health_listen; empty without.
  const std::string& health_address() const;
  // As Start() completed them.
  const ServerOptions& options() const { return options_; }
  size_t num_streams() const;
  // What the Stats call answers.
  v1::ServerStats stats() const;

  // Health becomes NOT_SERVING, every stream is told, new ones are refused; the server ends when
  // the streams have, at the latest after `grace`. Returns at once. The first call counts.
  void Drain(absl::Duration grace);
  // Ends every stream now.
  void Stop();
  // Returns when the server has ended.
  void Wait();

 private:
  Server(ServerOptions options, Root root, std::unique_ptr<SessionSource> sessions,
         std::unique_ptr<ConnectionGuard> guard);
  absl::Status OpenDoor();
  absl::Status Listen(const std::string& address);
  absl::Status LoadCredentials();
  // Ends the gRPC server when there is reason to.
  void RunUntilEnd();

  const ServerOptions options_;
  const Root root_;
  const std::unique_ptr<SessionSource> sessions_;
  const std::unique_ptr<ConnectionGuard> guard_;  // Of all ports.
  const std::unique_ptr<HealthService> health_;
  const std::unique_ptr<CallRouter> router_;
  std::unique_ptr<HealthPort> health_port_;  // Null without health_listen.
  std::unique_ptr<Gate> gate_;
  std::unique_ptr<SharedMemoryDoor> door_;  // May be null.
  std::unique_ptr<PieceService> service_;
  std::shared_ptr<grpc::ServerCredentials> credentials_;  // Shared with gRPC, which may go first.
  std::unique_ptr<grpc::Server> grpc_;
  std::unique_ptr<Listener> listener_;
  std::string address_;

  Mutex mutex_;
  CondVar changed_;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::chrono::steady_clock::time_point drain_deadline_ ABSL_GUARDED_BY(mutex_);
  std::jthread ender_;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_SERVER_H_
