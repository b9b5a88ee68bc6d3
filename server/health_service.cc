#include "server/health_service.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "proto/health.pb.h"
#include "server/request_reactor.h"

namespace penstock {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

namespace {

constexpr absl::string_view kLiveness = "liveness";
constexpr size_t kMaxServiceName = 256;

// Whether the service has the same status as the whole server.
bool IsServer(absl::string_view service) {
  return service.empty() || service == "penstock.v1.PieceService";
}

HealthCheckResponse::ServingStatus ToStatus(bool serving) {
  return serving ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
}

}  // namespace

class HealthCheck final : public RequestReactor {
 public:
  HealthCheck(HealthService& service, OpenCall call, grpc::CallbackServerContext& context)
      : RequestReactor(std::move(call), context, service.timeout_), service_(service) {}

 private:
  void OnRequest(grpc::ByteBuffer& bytes) override {
    HealthCheckRequest request;
    if (!Parse(bytes, request)) return;
    account().Rise(Standing::kKnown);
    const bool is_liveness = request.service() == kLiveness;
    if (!is_liveness && !IsServer(request.service())) {
      return Finish({grpc::StatusCode::NOT_FOUND, "unknown service"});
    }
    HealthCheckResponse response;
    response.set_status(ToStatus(is_liveness || service_.is_serving()));
    AnswerWith(response);
  }

  HealthService& service_;
};

// Writes one status at a time and skips those that were outdated meanwhile.
class HealthWatch final : public RequestReactor {
 public:
  HealthWatch(HealthService& service, OpenCall call, grpc::CallbackServerContext& context)
      : RequestReactor(std::move(call), context, service.timeout_), service_(service) {}

  void Tell(HealthCheckResponse::ServingStatus status) {
    {
      MutexLock lock(&mutex_);
      wanted_ = status;
      if (writing_ || finished_ || wanted_ == told_) return;
      writing_ = true;
      told_ = wanted_;
      HealthCheckResponse response;
      response.set_status(told_);
      message_ = ToByteBuffer(response);
    }
    StartWrite(&message_);
  }

 private:
  void OnRequest(grpc::ByteBuffer& bytes) override {
    HealthCheckRequest request;
    if (!Parse(bytes, request)) return;
    if (const absl::Status added = service_.Add(*this, request.service()); !added.ok()) {
      return Finish(ToGrpcStatus(added));
    }
    account().Rise(Standing::kKnown);
    {
      MutexLock lock(&mutex_);
      watches_ = true;
    }
    FinishIfDue();
  }
  void OnWriteDone(bool ok) override {
    HealthCheckResponse::ServingStatus wanted;
    {
      MutexLock lock(&mutex_);
      writing_ = false;
      wanted = wanted_;
    }
    if (ok) Tell(wanted);
    FinishIfDue();
  }
  void OnCancel() override {
    RequestReactor::OnCancel();
    FinishIfDue();
  }
  void OnDone() override {
    bool watched;
    {
      MutexLock lock(&mutex_);
      watched = watches_;
    }
    if (watched) service_.Remove(*this);
    RequestReactor::OnDone();
  }
  void FinishIfDue() {
    {
      MutexLock lock(&mutex_);
      if (!watches_ || !cancelled() || writing_ || finished_) return;
      finished_ = true;
    }
    Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the watch has ended"));
  }

  HealthService& service_;
  Mutex mutex_;
  grpc::ByteBuffer message_;  // gRPC reads it while writing_ is set.
  // The status sent last; UNKNOWN if nothing was sent yet.
  HealthCheckResponse::ServingStatus told_ ABSL_GUARDED_BY(mutex_) = HealthCheckResponse::UNKNOWN;
  HealthCheckResponse::ServingStatus wanted_ ABSL_GUARDED_BY(mutex_) = HealthCheckResponse::UNKNOWN;
  bool watches_ ABSL_GUARDED_BY(mutex_) = false;  // HealthService knows this watch.
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

void HealthService::AddCallsTo(CallRouter& router) {
  router.Add("/grpc.health.v1.Health/Check",
             [this](grpc::CallbackServerContext& context, OpenCall call) {
               return (new HealthCheck(*this, std::move(call), context))->Start();
             });
  router.Add("/grpc.health.v1.Health/Watch",
             [this](grpc::CallbackServerContext& context, OpenCall call) {
               return (new HealthWatch(*this, std::move(call), context))->Start();
             });
}

bool HealthService::is_serving() const {
  MutexLock lock(&mutex_);
  return serving_;
}

void HealthService::SetServing(bool serving) {
  MutexLock lock(&mutex_);
  serving_ = serving;
  for (HealthWatch* watch : watches_) watch->Tell(ToStatus(serving));
}

absl::Status HealthService::Add(HealthWatch& watch, const std::string& service) {
  // gRPC keeps the request as long as the call lasts.
  if (service.size() > kMaxServiceName) {
    return absl::InvalidArgumentError(
        absl::StrCat("the name of the service has more than ", kMaxServiceName, " bytes"));
  }
  MutexLock lock(&mutex_);
  if (num_watches_ >= max_watches_) {
    return absl::ResourceExhaustedError(absl::StrCat(
        num_watches_, " health watches are open; the limit is ", max_watches_, ": use Check"));
  }
  ++num_watches_;
  if (IsServer(service)) {
    watches_.insert(&watch);
    watch.Tell(ToStatus(serving_));
  } else {
    watch.Tell(service == kLiveness ? HealthCheckResponse::SERVING
                                    : HealthCheckResponse::SERVICE_UNKNOWN);
  }
  return absl::OkStatus();
}

void HealthService::Remove(HealthWatch& watch) {
  MutexLock lock(&mutex_);
  --num_watches_;
  watches_.erase(&watch);
}

}  // namespace penstock
