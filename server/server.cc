#include "server/server.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/process/process_limits.h"
#include "base/process/start_thread.h"
#include "base/status.h"
#include "grpcpp/grpcpp.h"
#include "records/wire/limits.h"
#include "server/connection_limits.h"
#include "server/credentials.h"
#include "server/engine_sessions.h"
#include "server/gate.h"
#include "server/guard/connection_guard.h"
#include "server/hand_over.h"
#include "server/health_port.h"
#include "server/health_service.h"
#include "server/listen_address.h"
#include "server/listener.h"
#include "server/log.h"
#include "server/piece_service.h"
#include "server/required_data.h"
#include "server/shared_memory_door.h"

namespace penstock {
namespace {

void Configure(grpc::ServerBuilder& builder) {
  LimitConnections(builder);
  builder.SetMaxReceiveMessageSize(wire::kMaxClientMessageBytes);
  builder.SetMaxSendMessageSize(wire::kMaxServerMessageBytes);
}

absl::Status CheckTls(const ServerOptions& options) {
  if (options.tls_cert.empty() != options.tls_key.empty()) {
    return absl::InvalidArgumentError("--tls-cert and --tls-key must be given together");
  }
  if (!options.tls_client_ca.empty() && options.tls_cert.empty()) {
    return absl::InvalidArgumentError("--tls-client-ca needs --tls-cert and --tls-key");
  }
  return absl::OkStatus();
}

// Reports an invalid host first, because TLS would not help with that.
absl::Status CheckPlaintext(const ServerOptions& options, const ListenAddress& address) {
  PENSTOCK_RETURN_IF_ERROR(Annotate(CheckListenHost(address), "--listen"));
  const std::string where =
      absl::StrCat("--listen ", options.listen, " can be reached from other machines");
  if (!options.token_file.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        where,
        ", so the tokens of --token-file would be sent in plaintext: give --tls-cert and "
        "--tls-key, or listen on 127.0.0.1"));
  }
  if (options.insecure) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      where,
      " without TLS, so anyone on the network could read the data: give --tls-cert and "
      "--tls-key, listen on 127.0.0.1, or accept this with --insecure"));
}

absl::Status CheckHealthListen(const ServerOptions& options, const ListenAddress& address) {
  if (options.health_listen.empty()) return absl::OkStatus();
  absl::StatusOr<ListenAddress> health = ParseListenAddress(options.health_listen);
  if (!health.ok()) return Annotate(health.status(), "--health-listen");
  if (!Overlap(address, *health)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--listen and --health-listen both use port ", address.port,
                   ": give different ports, or leave out --health-listen, because --listen also "
                   "answers health checks"));
}

// Number of descriptors for the data root, a shard, --address-file and the metrics port, and, for
// each other port, the sockets of two addresses, an eventfd and a spare.
uint64_t OwnDescriptors(const ServerOptions& options) {
  const uint64_t ports = 1 + !options.health_listen.empty() + !options.shm_socket.empty();
  return 6 + 4 * ports;
}

absl::Status CheckThreads(const char* flag, uint32_t threads) {
  if (threads <= EngineOptions::kMaxThreads) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": ", threads, " is not from 0 to ", EngineOptions::kMaxThreads));
}

}  // namespace

absl::Status ServerOptions::Validate() const {
  absl::StatusOr<ListenAddress> address = ParseListenAddress(listen);
  if (!address.ok()) return Annotate(address.status(), "--listen");
  PENSTOCK_RETURN_IF_ERROR(CheckHealthListen(*this, *address));
  PENSTOCK_RETURN_IF_ERROR(CheckThreads("--threads", threads));
  PENSTOCK_RETURN_IF_ERROR(CheckThreads("--read-threads", read_threads));
  PENSTOCK_RETURN_IF_ERROR(CheckTls(*this));
  if (!address->IsLoopback() && tls_cert.empty()) {
    PENSTOCK_RETURN_IF_ERROR(CheckPlaintext(*this, *address));
  }
  if (data_root.empty()) {
    return absl::InvalidArgumentError("--data-root is missing: give the folder with the shards");
  }
  for (const std::string& name : require) {
    PENSTOCK_RETURN_IF_ERROR(Annotate(RequiredManifestPath(name).status(), "--require"));
  }
  if (!shm_socket.empty()) {
    return SharedMemoryDoorOptions{.socket = shm_socket, .group = shm_group}.Validate();
  }
  if (!shm_group.empty()) return absl::InvalidArgumentError("--shm-group needs --shm-socket");
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(ServerOptions options) {
  PENSTOCK_RETURN_IF_ERROR(options.Validate());
  absl::StatusOr<std::unique_ptr<Engine>> engine =
      Engine::Create({.data_root = options.data_root,
                      .threads = options.threads,
                      .read_threads = options.read_threads,
                      .memory_budget = options.memory_budget,
                      .strip_cache = options.strip_cache,
                      .limits = {.max_sessions = options.limits.max_streams}});
  if (absl::IsResourceExhausted(engine.status())) return engine.status();
  if (!engine.ok()) return Annotate(engine.status(), "--data-root");
  options.threads = (*engine)->options().threads;
  options.memory_budget = (*engine)->options().memory_budget;
  return Start(std::move(options), std::make_unique<EngineSessions>(*std::move(engine)));
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(ServerOptions options,
                                                      std::unique_ptr<SessionSource> sessions) {
  PENSTOCK_RETURN_IF_ERROR(options.Validate());
  PENSTOCK_RETURN_IF_ERROR(CheckLimitsForGrpc(OwnDescriptors(options)));
  absl::StatusOr<Root> root = Root::Open(options.data_root);
  if (!root.ok()) return Annotate(root.status(), "--data-root");
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<ConnectionGuard> guard,
                            ConnectionGuard::Start(options.guard, [work = sessions.get()] {
                              return AllocatedBesides(*work, ConnectionGuard::AllocatedBytes);
                            }));
  std::unique_ptr<Server> server(
      new Server(std::move(options), *std::move(root), std::move(sessions), std::move(guard)));
  if (const std::string& listen = server->options_.health_listen; !listen.empty()) {
    absl::StatusOr<std::unique_ptr<HealthPort>> port =
        HealthPort::Start(listen, server->options_.limits, *server->guard_);
    if (!port.ok()) return Annotate(port.status(), "--health-listen");
    server->health_port_ = *std::move(port);
  }
  PENSTOCK_RETURN_IF_ERROR(server->OpenDoor());
  PENSTOCK_RETURN_IF_ERROR(server->LoadCredentials());
  PENSTOCK_RETURN_IF_ERROR(server->WatchRequiredData());
  PENSTOCK_RETURN_IF_ERROR(server->Listen(server->options_.listen));
  return server;
}

Server::Server(ServerOptions options, Root root, std::unique_ptr<SessionSource> sessions,
               std::unique_ptr<ConnectionGuard> guard)
    : options_(std::move(options)),
      root_(std::move(root)),
      sessions_(std::move(sessions)),
      guard_(std::move(guard)),
      health_(std::make_unique<HealthService>(options_.limits)),
      router_(std::make_unique<CallRouter>(GuardedPort(*guard_))) {}

absl::Status Server::LoadCredentials() {
  credentials_ = grpc::InsecureServerCredentials();
  if (!options_.tls_cert.empty()) {
    absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> tls = MakeTlsCredentials(
        {.cert = options_.tls_cert, .key = options_.tls_key, .ca = options_.tls_client_ca});
    if (!tls.ok()) {
      const bool ca = !options_.tls_client_ca.empty();
      return Annotate(tls.status(),
                      ca ? "--tls-cert, --tls-key, --tls-client-ca" : "--tls-cert, --tls-key");
    }
    credentials_ = *std::move(tls);
  }
  std::unique_ptr<TokenFile> tokens;
  if (!options_.token_file.empty()) {
    absl::StatusOr<std::unique_ptr<TokenFile>> opened = TokenFile::Open(options_.token_file);
    if (!opened.ok()) return Annotate(opened.status(), "--token-file");
    tokens = *std::move(opened);
  }
  gate_ = std::make_unique<Gate>(std::move(tokens), options_.limits);
  service_ = std::make_unique<PieceService>(*sessions_, root_, *gate_, options_.limits, door_.get(),
                                            [this] {
                                              MutexLock lock(&mutex_);
                                              changed_.NotifyAll();
                                            });
  return service_->Start();
}

// Until the first check has ended, the server is not ready.
absl::Status Server::WatchRequiredData() {
  std::vector<std::string> manifests;
  for (const std::string& name : options_.require) {
    PENSTOCK_ASSIGN_OR_RETURN(manifests.emplace_back(), RequiredManifestPath(name));
  }
  if (manifests.empty()) return absl::OkStatus();
  const auto on_lack = [this](const std::string& lack) {
    service_->SetMissingData(lack);
    MutexLock lock(&mutex_);
    lacks_data_ = !lack.empty();
    UpdateHealth();
  };
  {
    MutexLock lock(&mutex_);
    lacks_data_ = true;
    UpdateHealth();
  }
  PENSTOCK_ASSIGN_OR_RETURN(required_data_,
                            RequiredData::Start(root_, std::move(manifests), on_lack, {}));
  return absl::OkStatus();
}

void Server::UpdateHealth() {
  const bool serving = !draining_ && !lacks_data_;
  health_->SetServing(serving);
  if (health_port_ != nullptr) health_port_->SetServing(serving);
}

absl::Status Server::OpenDoor() {
  if (options_.shm_socket.empty()) return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(
      door_, SharedMemoryDoor::Open({.socket = options_.shm_socket, .group = options_.shm_group}));
  return absl::OkStatus();
}

absl::Status Server::Listen(const std::string& address) {
  PENSTOCK_ASSIGN_OR_RETURN(ListenAddress parsed, ParseListenAddress(address));
  PENSTOCK_ASSIGN_OR_RETURN(listener_, Listener::Bind(parsed));
  grpc::ServerBuilder builder;
  Configure(builder);
  Listener::HandOver hand_over = HandOverTo(builder, credentials_, router_->port());
  service_->AddCallsTo(*router_);
  health_->AddCallsTo(*router_);
  builder.RegisterCallbackGenericService(router_.get());
  grpc_ = builder.BuildAndStart();
  if (grpc_ == nullptr) return absl::InternalError("gRPC could not start a server");
  address_ = absl::StrCat(address.substr(0, address.rfind(':')), ":", listener_->port());
  PENSTOCK_ASSIGN_OR_RETURN(ender_, StartThread("that ends the server", [this] { RunUntilEnd(); }));
  return listener_->Start({.speaks_tls = !options_.tls_cert.empty()}, std::move(hand_over));
}

Server::~Server() {
  if (!ender_.joinable()) return;  // Listen() was not reached.
  Stop();
  Wait();
}

void Server::RunUntilEnd() {
  {
    MutexLock lock(&mutex_);
    while (!stopping_) {
      if (!draining_) {
        changed_.Wait(&mutex_);
        continue;
      }
      if (service_->is_idle()) break;
      if (!changed_.WaitUntil(&mutex_, drain_deadline_)) break;
    }
  }
  if (size_t streams = service_->num_streams(); streams > 0) {
    LogWarning("ending with open streams count={}", streams);
  }
  listener_.reset();
  guard_->Close();
  grpc_->Shutdown(std::chrono::system_clock::now());
  MutexLock lock(&mutex_);
  ended_ = true;
  changed_.NotifyAll();
}

const std::string& Server::health_address() const {
  static const std::string none;
  return health_port_ == nullptr ? none : health_port_->address();
}

size_t Server::num_streams() const { return service_->num_streams(); }

v1::ServerStats Server::stats() const {
  v1::ServerStats stats = service_->stats();
  const GuardStats guard = guard_->stats();
  v1::ConnectionStats& connections = *stats.mutable_connections();
  connections.set_open(guard.open);
  connections.set_waiting(guard.waiting);
  connections.set_cut(guard.cut);
  connections.set_displaced(guard.displaced);
  connections.set_refused(guard.refused);
  return stats;
}

void Server::Drain(absl::Duration grace) {
  {
    MutexLock lock(&mutex_);
    if (draining_ || stopping_) return;
    draining_ = true;
    drain_deadline_ = std::chrono::steady_clock::now() + absl::ToChronoMilliseconds(grace);
    UpdateHealth();
  }
  service_->Drain(grace);
  MutexLock lock(&mutex_);
  changed_.NotifyAll();
}

void Server::Stop() {
  MutexLock lock(&mutex_);
  stopping_ = true;
  changed_.NotifyAll();
}

void Server::Wait() {
  MutexLock lock(&mutex_);
  while (!ended_) changed_.Wait(&mutex_);
}

}  // namespace penstock
