#include "server/grpc_log.h"

#include <grpc/support/log.h>

#include <atomic>

#include "absl/strings/match.h"
#include "server/log.h"
#include "server/log_limiter.h"

namespace penstock {
namespace {

// The text in chttp2_server.cc of gRPC 1.51, at level DEBUG.
constexpr absl::string_view kHandshakeFailed = "Handshaking failed: ";

struct Cause {
  absl::string_view openssl;  // OpenSSL's text for the reason.
  absl::string_view words;
};

// An alert is the client's verdict on us. The other texts are our verdict on the client.
constexpr Cause kCauses[] = {
    {"peer did not return a certificate",
     "the client sent no certificate, but --tls-client-ca requires one: start the client with "
     "--tls-cert and --tls-key"},
    {"certificate verify failed",
     "the client's certificate is refused: it or its CA has expired or is not valid yet (compare "
     "the clocks of both machines), no CA in --tls-client-ca signed it, or its extendedKeyUsage "
     "does not allow clients"},
    {"alert unknown ca",
     "the client does not trust the CA of this server's certificate: start it with --tls-ca"},
    {"alert certificate expired",
     "the client refuses this server's certificate, because it or its CA's has expired: renew it, "
     "or correct the client's clock"},
    {"alert bad certificate",
     "the client refuses this server's certificate: it lacks the host name that the client "
     "connects to (set --tls-server-name there), it is not valid yet by the client's clock "
     "(compare the clocks of both machines), or its algorithm is too weak"},
    {"alert unsupported certificate",
     "the client refuses this server's certificate, because its extendedKeyUsage does not allow "
     "servers: issue it with serverAuth, or without extendedKeyUsage"},
    {"alert certificate unknown", "the client refuses this server's certificate"},
    {"alert certificate required", "the client requires a certificate, but this server sent none"},
    {"wrong version number", "the client does not speak TLS: start it with --tls"},
    {"http request", "the client speaks HTTP without TLS"},
    {"no shared cipher", "the client and this server have no TLS cipher in common"},
    {"unsupported protocol", "the client's TLS version is older than 1.2"},
    {"timed out", "the client did not end its TLS handshake in time"},
};

// Never destroyed, because gRPC's threads log until the process has ended.
LogLimiter& Limiter() {
  static LogLimiter& limiter = *new LogLimiter;
  return limiter;
}

void LogHandshake(absl::string_view message) {
  const std::string cause = ExplainHandshake(message);
  if (cause.empty()) {
    LogDebug("tls handshake ended by the client grpc={}", Quoted(message));
    return;
  }
  CountFailedHandshake();
  if (std::optional<uint64_t> left_out = Limiter().Allow(cause)) {
    LogWarning("tls handshake failed cause={} left_out={}", Quoted(cause), *left_out);
  }
}

void Log(gpr_log_func_args* line) {
  absl::string_view message = line->message;
  if (absl::StartsWith(message, kHandshakeFailed)) {
    return LogHandshake(message.substr(kHandshakeFailed.size()));
  }
  // "Handshake failed" begins OpenSSL's line about the same failure.
  if (line->severity != GPR_LOG_SEVERITY_ERROR || absl::StartsWith(message, "Handshake failed")) {
    return;
  }
  if (std::optional<uint64_t> left_out = Limiter().Allow("error")) {
    LogError("grpc failed error={} left_out={}", Quoted(message), *left_out);
  }
}

}  // namespace

std::string ExplainHandshake(absl::string_view message) {
  for (const Cause& cause : kCauses) {
    if (absl::StrContains(message, cause.openssl)) return std::string(cause.words);
  }
  const size_t at = message.find("SSL routines::");
  if (at == absl::string_view::npos) return "";
  return std::string(message.substr(at, message.find(" {", at) - at));
}

void SendGrpcLogToServerLog() {
  gpr_set_log_function(&Log);
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_DEBUG);
}

namespace {

std::atomic<uint64_t>& Count() {
  static std::atomic<uint64_t> count{0};
  return count;
}

}  // namespace

void CountFailedHandshake() { Count().fetch_add(1, std::memory_order_relaxed); }

uint64_t NumFailedHandshakes() { return Count().load(std::memory_order_relaxed); }

}  // namespace penstock
