#include "trainer/comm/store_server.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "proto/rank_store.grpc.pb.h"
#include "trainer/comm/store_channel.h"
#include "trainer/comm/store_table.h"

namespace penstock {
namespace {

constexpr std::chrono::seconds kLeaveTimeout{5};

// The call of one rank. gRPC owns it until OnDone().
class Attendance final : public grpc::ServerBidiReactor<v1::RankMessage, v1::StoreMessage>,
                         public StoreMember {
 public:
  explicit Attendance(StoreTable& table) : table_(table) { StartRead(&received_); }

  void Tell(const v1::StoreMessage& message) override {
    {
      MutexLock lock(&mutex_);
      if (end_.has_value()) return;
      outbox_.push_back(message);
      if (outbox_.size() > 1) return;  // One write at a time.
    }
    WriteFirst();
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return End(grpc::Status::OK);
    if (const absl::Status status = Receive(); !status.ok()) {
      return End({static_cast<grpc::StatusCode>(status.code()), std::string(status.message())});
    }
    StartRead(&received_);
  }

  absl::Status Receive() {
    switch (received_.kind_case()) {
      case v1::RankMessage::kHello: {
        if (rank_.has_value()) return absl::InvalidArgumentError("the rank sent Hello twice");
        absl::Status status = table_.Join(received_.hello(), *this);
        if (status.ok()) rank_ = received_.hello().rank();
        return status;
      }
      case v1::RankMessage::kPut:
        if (!rank_.has_value())
          return absl::InvalidArgumentError("the rank did not send Hello first");
        return table_.Put(received_.put());
      case v1::RankMessage::kLeave:
        if (!rank_.has_value())
          return absl::InvalidArgumentError("the rank did not send Hello first");
        table_.Leave(*rank_, received_.leave());
        return absl::OkStatus();
      case v1::RankMessage::KIND_NOT_SET:
        break;
    }
    return absl::InvalidArgumentError("unknown message: start all ranks from the same build");
  }

  void OnWriteDone(bool ok) override {
    bool more = false;
    {
      MutexLock lock(&mutex_);
      if (ok) outbox_.pop_front();
      if (!ok) outbox_.clear();
      more = !outbox_.empty();
    }
    if (more) return WriteFirst();
    FinishIfDue();
  }

  // The front element stays in place until it is written.
  void WriteFirst() {
    const v1::StoreMessage* first;
    {
      MutexLock lock(&mutex_);
      first = &outbox_.front();
    }
    StartWrite(first);
  }

  // Ends the call once the earlier messages are written.
  void End(grpc::Status status) {
    if (rank_.has_value()) table_.Remove(*std::exchange(rank_, std::nullopt));
    {
      MutexLock lock(&mutex_);
      end_ = std::move(status);
    }
    FinishIfDue();
  }
  void FinishIfDue() {
    {
      MutexLock lock(&mutex_);
      if (!end_.has_value() || !outbox_.empty() || finished_) return;
      finished_ = true;
    }
    Finish(*end_);
  }
  void OnDone() override { delete this; }

  StoreTable& table_;
  v1::RankMessage received_;
  std::optional<uint32_t> rank_;  // Set once it has joined; used by the reading side.
  Mutex mutex_;
  std::deque<v1::StoreMessage> outbox_ ABSL_GUARDED_BY(mutex_);  // The first is being written.
  std::optional<grpc::Status> end_;  // Written under mutex_; constant once set.
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

class GrpcStore final : public StoreServer, private v1::RankStore::CallbackService {
 public:
  explicit GrpcStore(const RankInfo& info) : table_(info.job, info.generation, info.world_size) {}

  ~GrpcStore() override {
    if (server_ == nullptr) return;
    table_.WaitUntilEmpty(kLeaveTimeout);
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
  }

  absl::Status Listen(const std::string& rendezvous);
  std::string address() const override { return address_; }

 private:
  grpc::ServerBidiReactor<v1::RankMessage, v1::StoreMessage>* Join(
      grpc::CallbackServerContext*) override {
    return new Attendance(table_);
  }

  StoreTable table_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

bool IsUnix(const std::string& rendezvous) { return absl::StartsWith(rendezvous, "unix"); }

// The address that rank 0 listens at, for ranks that reach it by the name `host`.
std::string ListenAddress(const std::string& host, const std::string& port) {
  const bool loopback =
      host == "localhost" || host == "[::1]" || absl::StartsWith(host, "127.0.0.");
  const bool ipv6 = absl::StartsWith(host, "[");
  return absl::StrCat(loopback ? host : ipv6 ? "[::]" : "0.0.0.0", ":", port);
}

absl::Status GrpcStore::Listen(const std::string& rendezvous) {
  const size_t colon = std::min(rendezvous.rfind(':'), rendezvous.size() - 1);
  const std::string host = rendezvous.substr(0, colon), own_port = rendezvous.substr(colon + 1);
  const bool local = IsUnix(rendezvous);
  int port = -1;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(local ? rendezvous : ListenAddress(host, own_port),
                           grpc::InsecureServerCredentials(), &port);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  SetStoreKeepalive(builder);
  builder.RegisterService(static_cast<v1::RankStore::CallbackService*>(this));
  server_ = builder.BuildAndStart();
  if (server_ == nullptr || port <= 0) {
    server_ = nullptr;
    return absl::UnavailableError(absl::StrCat(
        "rank 0 cannot listen at ", rendezvous,
        ": another process uses the address, or it does not belong to this host; give all ranks "
        "another address (--rendezvous, MASTER_PORT)"));
  }
  address_ = local ? rendezvous : absl::StrCat(host, ":", port);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<StoreServer>> StoreServer::Start(const RankInfo& info) {
  auto store = std::make_unique<GrpcStore>(info);
  if (absl::Status status = store->Listen(info.rendezvous); !status.ok()) return status;
  return store;
}

}  // namespace penstock
