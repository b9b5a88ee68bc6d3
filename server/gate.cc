#include "server/gate.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "grpcpp/server_context.h"
#include "server/log.h"

namespace penstock {
namespace {

// Returns "ipv4:10.0.0.1" for "ipv4:10.0.0.1:4711": limits apply to a host, whatever its ports.
std::string HostOf(const std::string& peer) { return peer.substr(0, peer.rfind(':')); }

absl::string_view AuthorizationOf(const grpc::CallbackServerContext& context) {
  const auto& metadata = context.client_metadata();
  auto found = metadata.find("authorization");
  if (found == metadata.end()) return {};
  return {found->second.data(), found->second.size()};
}

struct Limit {
  absl::string_view what;
  size_t all;
  size_t of_host;
  absl::string_view advice, advice_of_host;  // Text that follows the numbers in the message.
};

Limit LimitOf(CallKind kind, const ServiceLimits& limits) {
  if (kind == CallKind::kStream) {
    return {"streams", limits.max_streams, limits.max_streams_per_host,
            " (--max-streams of penstock-server)", " (--max-streams-per-host of penstock-server)"};
  }
  return {kind == CallKind::kManifest ? "Manifest calls" : "Stats calls", limits.max_calls,
          limits.max_calls_per_host, ": ask again", ": ask again"};
}

// Returns the kind of log line. A client without a token does not hide one with a wrong token. The
// text of unauthenticated errors is constant; other messages contain numbers and a host.
std::string LogKindOf(const absl::Status& refusal) {
  if (absl::IsUnauthenticated(refusal)) return std::string(refusal.message());
  return absl::StatusCodeToString(refusal.code());
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
        "the definitions of this stream's open windows take ", definition_bytes_, " bytes, and ",
        bytes, " more would exceed the limit of ", limits.max_stream_definition_bytes));
  }
  MutexLock lock(&gate_->mutex_);
  if (gate_->definition_bytes_ + bytes > limits.max_definition_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the definitions of the open windows of all streams of this server take ",
                     gate_->definition_bytes_, " bytes, and ", bytes,
                     " more would exceed the limit of ", limits.max_definition_bytes));
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

absl::StatusOr<Gate::Pass> Gate::Admit(const grpc::CallbackServerContext& context, CallKind kind,
                                       ConnectionAccount& account) {
  absl::StatusOr<Pass> pass = TryAdmit(context, kind, account);
  if (pass.ok()) return pass;
  if (std::optional<uint64_t> left_out = log_.Allow(LogKindOf(pass.status()))) {
    LogWarning("call refused peer={} error={} left_out={}", context.peer(),
               Quoted(pass.status().ToString()), *left_out);
  }
  return pass;
}

absl::StatusOr<Gate::Pass> Gate::TryAdmit(const grpc::CallbackServerContext& context, CallKind kind,
                                          ConnectionAccount& account) {
  std::shared_ptr<const Grant> grant;
  if (tokens_ != nullptr) {
    PENSTOCK_ASSIGN_OR_RETURN(grant, tokens_->Check(AuthorizationOf(context)));
  }
  account.Rise(Standing::kInvited);
  std::string host = HostOf(context.peer());
  PENSTOCK_RETURN_IF_ERROR(Count(kind, host));
  return Pass(this, kind, std::move(host), std::move(grant));
}

absl::Status Gate::Count(CallKind kind, const std::string& host) {
  const Limit limit = LimitOf(kind, limits_);
  MutexLock lock(&mutex_);
  Open& open = open_[kind];
  if (open.all >= limit.all) {
    return absl::ResourceExhaustedError(absl::StrCat(
        open.all, " ", limit.what, " are open; the limit is ", limit.all, limit.advice));
  }
  size_t& of_host = open.of_host[host];
  if (of_host >= limit.of_host) {
    return absl::ResourceExhaustedError(absl::StrCat(of_host, " ", limit.what, " of ", host,
                                                     " are open; the limit of one host is ",
                                                     limit.of_host, limit.advice_of_host));
  }
  ++of_host;
  ++open.all;
  return absl::OkStatus();
}

void Gate::Leave(const Pass& pass) {
  MutexLock lock(&mutex_);
  definition_bytes_ -= pass.definition_bytes_;
  Open& open = open_[pass.kind_];
  --open.all;
  const auto of_host = open.of_host.find(pass.host_);
  if (--of_host->second == 0) open.of_host.erase(of_host);
}

}  // namespace penstock
