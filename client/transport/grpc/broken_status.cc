#include "client/transport/grpc/broken_status.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

// gRPC 1.51: "failed to connect to all addresses; last error: UNKNOWN: Failed to connect to remote
// host: Connection refused". What follows the last error is what a person needs.
absl::string_view LastError(absl::string_view message) {
  constexpr absl::string_view kMark = "last error: ";
  size_t at = message.find(kMark);
  if (at == absl::string_view::npos) return message;
  message.remove_prefix(at + kMark.size());
  size_t code_end = message.find(": ");
  return code_end == absl::string_view::npos ? message : message.substr(code_end + 2);
}

absl::Status NotAServer(absl::string_view address, absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat(address, ": the peer is not a penstock-server (", why, "); check the port"));
}

// Codes that gRPC itself gives to a broken connection or call; a penstock-server uses none of them.
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
  if (absl::StrContains(message, "http1.x server")) return NotAServer(address, "it speaks HTTP/1");
  bool lost = IsTransportFailure(status.error_code()) || absl::StrContains(message, "RST_STREAM");
  auto code =
      lost ? absl::StatusCode::kUnavailable : static_cast<absl::StatusCode>(status.error_code());
  return absl::Status(code, absl::StrCat(address, ": ", LastError(message)));
}

}  // namespace penstock
