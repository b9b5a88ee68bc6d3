#include "client/transport/grpc/call_status.h"

#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "client/transport/grpc/broken_status.h"
#include "client/transport/grpc/connection_probe.h"

namespace penstock {
namespace {

constexpr absl::Duration kCallProbeTimeout = absl::Seconds(1);

}  // namespace

absl::Status CallStatus(const std::string& address, const std::optional<TlsOptions>& tls,
                        const grpc::Status& status) {
  const absl::Status broken = BrokenStatus(address, status);
  if (!MayBeTls(status)) return broken;
  const ProbedServer server = ProbedServerOf(address, tls, status);
  std::string cause = ProbeConnection(server, tls, kCallProbeTimeout, {});
  const bool silent = status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED ||
                      absl::StrContains(status.error_message(), "handshaker shutdown");
  if (cause.empty() && silent) cause = ProbeSilence(server, kCallProbeTimeout);
  return WithCause(address, broken, cause);
}

}  // namespace penstock
