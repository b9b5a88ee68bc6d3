#include "server/health_service.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/answering_reactor.h"

namespace penstock {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

namespace {

constexpr absl::string_view kLiveness = "liveness";
constexpr size_t kMaxServiceName = 256;

// Of one status with the whole server.
bool IsServer(absl::string_view service) {
  return service.empty() || service == "penstock.v1.PieceService";
}

HealthCheckResponse::ServingStatus ToStatus(bool serving) {
  return serving ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
}

}  // namespace

// Writes one status at a time and skips those that changed meanwhile. gRPC owns it until OnDone().
class HealthWatch final : public grpc::ServerWriteReactor<HealthCheckResponse> {
 public:
  HealthWatch(HealthService& service, HealthCheckResponse::ServingStatus status)
      : service_(service) {
    Tell(status);
  }

  void Tell(HealthCheckResponse::ServingStatus status) {
    {
      MutexLock lock(&mutex_);
      wanted_ = status;
      if (writing_ || finished_ || wanted_ == response_.status()) return;
      writing_ = true;
      response_.set_status(wanted_);
    }
    StartWrite(&response_);
  }

 private:
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
    {
      MutexLock lock(&mutex_);
      cancelled_ = true;
    }
    FinishIfDue();
  }
  void OnDone() override {
    {
      MutexLock lock(&service_.mutex_);
      --service_.num_watches_;
      service_.watches_.erase(this);
    }
    delete this;
  }
  void FinishIfDue() {
    {
      MutexLock lock(&mutex_);
      if (!cancelled_ || writing_ || finished_) return;
      finished_ = true;
    }
    Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the watch has ended"));
  }

  HealthService& service_;
  Mutex mutex_;
  // Read by gRPC while writing_. UNKNOWN: nothing was written yet.
  HealthCheckResponse response_;
  HealthCheckResponse::ServingStatus wanted_ ABSL_GUARDED_BY(mutex_) = HealthCheckResponse::UNKNOWN;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

void HealthService::SetServing(bool serving) {
  MutexLock lock(&mutex_);
  serving_ = serving;
  for (HealthWatch* watch : watches_) watch->Tell(ToStatus(serving));
}

grpc::ServerUnaryReactor* HealthService::Check(grpc::CallbackServerContext* context,
                                               const HealthCheckRequest* request,
                                               HealthCheckResponse* response) {
  std::shared_ptr<ConnectionAccount> account = guard_.BeginCall(context->peer());
  account->Rise(Standing::kKnown);
  const bool is_known = IsServer(request->service()) || request->service() == kLiveness;
  if (is_known) {
    MutexLock lock(&mutex_);
    response->set_status(ToStatus(serving_ || request->service() == kLiveness));
  }
  return new AnsweringReactor<grpc::ServerUnaryReactor>(
      std::move(account), is_known ? absl::OkStatus() : absl::NotFoundError("unknown service"));
}

grpc::ServerWriteReactor<HealthCheckResponse>* HealthService::Watch(
    grpc::CallbackServerContext* context, const HealthCheckRequest* request) {
  using Refusing = AnsweringReactor<grpc::ServerWriteReactor<HealthCheckResponse>>;
  std::shared_ptr<ConnectionAccount> account = guard_.BeginCall(context->peer());
  // gRPC keeps the request for as long as the call lasts.
  if (request->service().size() > kMaxServiceName) {
    return new Refusing(account, absl::InvalidArgumentError("that is no name of a service"));
  }
  MutexLock lock(&mutex_);
  if (num_watches_ >= max_watches_) {
    return new Refusing(account, absl::ResourceExhaustedError(absl::StrCat(
                                     num_watches_, " health watches are open; the limit is ",
                                     max_watches_, ": use Check")));
  }
  account->Rise(Standing::kKnown);
  ++num_watches_;
  if (IsServer(request->service())) {
    return *watches_.insert(new HealthWatch(*this, ToStatus(serving_))).first;
  }
  return new HealthWatch(*this, request->service() == kLiveness
                                    ? HealthCheckResponse::SERVING
                                    : HealthCheckResponse::SERVICE_UNKNOWN);
}

}  // namespace penstock
