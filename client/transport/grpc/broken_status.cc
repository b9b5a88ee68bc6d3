#include "client/transport/grpc/broken_status.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "client/transport/grpc/connection_probe.h"

namespace penstock {
namespace {

// Returns the part of a message of gRPC 1.51 that a person needs. It follows the last error:
// "failed to connect to all addresses; last error: UNKNOWN: Failed to connect to remote host:
// Connection refused".
absl::string_view LastError(absl::string_view message) {
  constexpr absl::string_view kMark = "last error: ";
  size_t at = message.find(kMark);
  if (at == absl::string_view::npos) return message;
  message.remove_prefix(at + kMark.size());
  size_t code_end = message.find(": ");
  return code_end == absl::string_view::npos ? message : message.substr(code_end + 2);
}

// gRPC names the peer where a call failed: "ipv4:127.0.0.1:7070: Socket closed",
// "ipv6:%5B::1%5D:7070: ...". The peer is worth keeping only if `address` is a name.
std::string WithAddress(absl::string_view address, absl::string_view message) {
  const bool named =
      absl::ConsumePrefix(&message, "ipv4:") || absl::ConsumePrefix(&message, "ipv6:");
  const size_t end = message.find(": ");
  if (!named || end == absl::string_view::npos) return absl::StrCat(address, ": ", message);
  const std::string peer =
      absl::StrReplaceAll(message.substr(0, end), {{"%5B", "["}, {"%5D", "]"}});
  message.remove_prefix(end + 2);
  if (peer == address) return absl::StrCat(address, ": ", message);
  return absl::StrCat(address, " (", peer, "): ", message);
}

// Shortens "DNS resolution failed for h:1: C-ares status is not ARES_SUCCESS qtype=AAAA name=h
// is_balancer=0: Domain name not found": drops the address and the details of c-ares.
std::string WithoutDnsDetails(absl::string_view address, absl::string_view message) {
  const std::string start = absl::StrCat("DNS resolution failed for ", address, ": ");
  if (!absl::ConsumePrefix(&message, start)) return std::string(message);
  const size_t reason = message.rfind(": ");
  if (reason != absl::string_view::npos) message.remove_prefix(reason + 2);
  return absl::StrCat("DNS resolution failed: ", message);
}

// Returns what to do about a connection that could not be made. It is "" for rare messages, and for
// those that say it themselves.
absl::string_view RemedyOf(absl::string_view message) {
  if (absl::StrContains(message, "onnection refused")) {
    return " (start the server, or correct its address and port)";
  }
  if (absl::StrContains(message, "DNS resolution failed")) {
    return " (correct the host's name, or check the name servers of this machine)";
  }
  return "";
}

absl::Status NotAServer(absl::string_view address, absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat(address, ": the peer is not a penstock-server (", why, "); check the port"));
}

// Codes that gRPC itself gives to a broken connection or call. A penstock-server uses none of them.
bool IsTransportFailure(grpc::StatusCode code) {
  return code == grpc::StatusCode::UNAVAILABLE || code == grpc::StatusCode::CANCELLED ||
         code == grpc::StatusCode::UNKNOWN || code == grpc::StatusCode::DEADLINE_EXCEEDED;
}

}  // namespace

absl::Status BrokenStatus(absl::string_view address, const grpc::Status& status) {
  const std::string message = status.error_message();
  if (status.ok()) {
    return absl::UnavailableError(absl::StrCat(address, ": the server ended the stream"));
  }
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    return NotAServer(address, "it speaks gRPC but not penstock.v1");
  }
  if (absl::StrContains(message, "timed out before receiving SETTINGS")) {
    return absl::UnavailableError(absl::StrCat(address, ": ", kSilentServer));
  }
  if (absl::StrContains(message, "http1.x server")) return NotAServer(address, "it speaks HTTP/1");
  if (absl::StrContains(message, "Failed parsing HTTP/2")) {
    // This is not NotAServer(), because a server that speaks TLS looks the same until a probe tells
    // which it is.
    return absl::UnavailableError(absl::StrCat(
        address,
        ": the peer does not speak gRPC (Failed parsing HTTP/2); this may be a metrics port or "
        "another program: give the --listen port of a penstock-server"));
  }
  bool lost = IsTransportFailure(status.error_code()) || absl::StrContains(message, "RST_STREAM");
  auto code =
      lost ? absl::StatusCode::kUnavailable : static_cast<absl::StatusCode>(status.error_code());
  const std::string cause = WithoutDnsDetails(address, LastError(message));
  return absl::Status(code, absl::StrCat(WithAddress(address, cause), RemedyOf(cause)));
}

absl::Status WithCause(absl::string_view address, const absl::Status& broken,
                       absl::string_view cause) {
  return cause.empty() ? broken : absl::Status(broken.code(), absl::StrCat(address, ": ", cause));
}

bool MayBeTls(const grpc::Status& status) {
  if (!IsTransportFailure(status.error_code())) return false;
  const std::string message = status.error_message();
  for (absl::string_view other :
       {"onnection refused", "DNS", "timed out", "Timeout", "unreachable", "http1.x"}) {
    if (absl::StrContains(message, other)) return false;
  }
  return true;
}

ProbedServer ProbedServerOf(absl::string_view address, const std::optional<TlsOptions>& tls,
                            const grpc::Status& status) {
  ProbedServer server{.address = std::string(address)};
  absl::string_view host = address.substr(0, address.rfind(':'));
  if (absl::ConsumePrefix(&host, "[")) host.remove_suffix(1);
  server.host = tls.has_value() && !tls->server_name.empty() ? tls->server_name : std::string(host);
  // As in "...: ipv4:127.0.0.1:7070: Socket closed". An IPv6 address is percent-encoded.
  const std::string message = status.error_message();
  const size_t at = message.find("ipv4:");
  if (at != std::string::npos) {
    const size_t begin = at + 5;
    server.address = message.substr(begin, message.find(": ", begin) - begin);
  }
  return server;
}

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
