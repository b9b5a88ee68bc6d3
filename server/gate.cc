#include "server/gate.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/server_context.h"
#include "records/base/status.h"
#include "server/log_format.h"
#include "spdlog/spdlog.h"

namespace penstock {
namespace {

// "ipv4:10.0.0.1:4711" without the port: a host is limited, whatever ports it connects from.
std::string HostOf(const std::string& peer) { return peer.substr(0, peer.rfind(':')); }

absl::string_view AuthorizationOf(const grpc::CallbackServerContext& context) {
  const auto& metadata = context.client_metadata();
  auto found = metadata.find("authorization");
  if (found == metadata.end()) return {};
  return {found->second.data(), found->second.size()};
}

}  // namespace

Gate::Pass::Pass(Pass&& other) noexcept { *this = std::move(other); }

Gate::Pass& Gate::Pass::operator=(Pass&& other) noexcept {
  std::swap(gate_, other.gate_);
  std::swap(kind_, other.kind_);
  std::swap(host_, other.host_);
  std::swap(grant_, other.grant_);
  std::swap(definition_bytes_, other.definition_bytes_);
  return *this;
}

Gate::Pass::~Pass() {
  if (gate_ != nullptr) gate_->Leave(*this);
}

absl::Status Gate::Pass::AddDefinition(uint64_t bytes) {
  const ServiceLimits& limits = gate_->limits_;
  if (definition_bytes_ + bytes > limits.max_stream_definition_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the open windows of this stream were defined in ", definition_bytes_, " bytes and ", bytes,
        " more come; the limit is ", limits.max_stream_definition_bytes));
  }
  MutexLock lock(&gate_->mutex_);
  if (gate_->definition_bytes_ + bytes > limits.max_definition_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the open windows of all streams of this server were defined in ", gate_->definition_bytes_,
        " bytes and ", bytes, " more come; the limit is ", limits.max_definition_bytes));
  }
  gate_->definition_bytes_ += bytes;
  definition_bytes_ += bytes;
  return absl::OkStatus();
}

void Gate::Pass::RemoveDefinition(uint64_t bytes) {
  MutexLock lock(&gate_->mutex_);
  gate_->definition_bytes_ -= bytes;
  definition_bytes_ -= bytes;
}

absl::StatusOr<Gate::Pass> Gate::Admit(const grpc::CallbackServerContext& context, CallKind kind) {
  absl::StatusOr<Pass> pass = TryAdmit(context, kind);
  if (pass.ok()) return pass;
  if (std::optional<uint64_t> left_out =
          log_.Allow(absl::StatusCodeToString(pass.status().code()))) {
    spdlog::warn("call refused peer={} error={} left_out={}", context.peer(),
                 Quoted(pass.status().ToString()), *left_out);
  }
  return pass;
}

absl::StatusOr<Gate::Pass> Gate::TryAdmit(const grpc::CallbackServerContext& context,
                                          CallKind kind) {
  std::shared_ptr<const Grant> grant;
  if (tokens_ != nullptr) {
    PENSTOCK_ASSIGN_OR_RETURN(grant, tokens_->Check(AuthorizationOf(context)));
  }
  std::string host = HostOf(context.peer());
  PENSTOCK_RETURN_IF_ERROR(Count(kind, host));
  return Pass(this, kind, std::move(host), std::move(grant));
}

absl::Status Gate::Count(CallKind kind, const std::string& host) {
  MutexLock lock(&mutex_);
  if (kind == CallKind::kCall) {
    if (num_calls_ >= limits_.max_calls) {
      return absl::ResourceExhaustedError(absl::StrCat(num_calls_,
                                                       " calls are being answered; the limit is ",
                                                       limits_.max_calls, ": ask again"));
    }
    ++num_calls_;
    return absl::OkStatus();
  }
  if (num_streams_ >= limits_.max_streams) {
    return absl::ResourceExhaustedError(
        absl::StrCat(num_streams_, " streams are open; the limit is ", limits_.max_streams));
  }
  size_t& of_host = streams_of_host_[host];
  if (of_host >= limits_.max_streams_per_host) {
    return absl::ResourceExhaustedError(absl::StrCat(of_host, " streams of ", host,
                                                     " are open; the limit of one host is ",
                                                     limits_.max_streams_per_host));
  }
  ++of_host;
  ++num_streams_;
  return absl::OkStatus();
}

void Gate::Leave(const Pass& pass) {
  MutexLock lock(&mutex_);
  definition_bytes_ -= pass.definition_bytes_;
  if (pass.kind_ == CallKind::kCall) {
    --num_calls_;
    return;
  }
  --num_streams_;
  auto of_host = streams_of_host_.find(pass.host_);
  if (--of_host->second == 0) streams_of_host_.erase(of_host);
}

size_t Gate::num_calls() const {
  MutexLock lock(&mutex_);
  return num_calls_;
}

}  // namespace penstock
