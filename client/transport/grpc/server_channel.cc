#include "client/transport/grpc/server_channel.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/io/file_source.h"
#include "base/io/loopback.h"
#include "base/status.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "records/wire/limits.h"

namespace penstock {
namespace {

constexpr size_t kMaxTokenBytes = 4096;
constexpr uint64_t kMaxTokenFileBytes = uint64_t{1} << 20;

grpc::ChannelArguments ChannelOptions(const NetworkOptions& network) {
  grpc::ChannelArguments options;
  options.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  options.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  options.SetMaxReceiveMessageSize(wire::kMaxServerMessageBytes);
  options.SetMaxSendMessageSize(wire::kMaxClientMessageBytes);
  // The defaults, 1 s growing to 120 s, are too long to notice a restarted server soon.
  options.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // Time limit for one attempt. A server that is flooded lets connections wait for a second.
  options.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 4000);
  options.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // A host that vanished without a word is noticed after 5 + 5 s.
  options.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 5'000);
  options.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  options.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // Use a wide window from the start, without probing for its width. The probe makes gRPC read into
  // ever larger buffers, which then leave the cache and cause page faults again. Use longer frames
  // too: each frame costs a header and a slice on both sides. docs/internals/adr has the figures.
  options.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  options.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 8 << 20);
  options.SetInt(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, 64 << 10);
  if (network.tls.has_value() && !network.tls->server_name.empty()) {
    options.SetSslTargetNameOverride(network.tls->server_name);
  }
  return options;
}

std::shared_ptr<grpc::ChannelCredentials> TlsCredentials(const PemTexts& texts) {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = texts.ca;  // If it is empty, gRPC uses the system's roots.
  options.pem_cert_chain = texts.cert;
  options.pem_private_key = texts.key;
  return grpc::SslCredentials(options);
}

absl::Status CheckToken(absl::string_view token, const std::string& path) {
  if (token.empty())
    return absl::InvalidArgumentError(absl::StrCat(path, ": the file has no token"));
  if (token.size() > kMaxTokenBytes) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": the token has ", token.size(),
                                                   " bytes; the limit is ", kMaxTokenBytes));
  }
  if (std::all_of(token.begin(), token.end(), absl::ascii_isgraph)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": the token has a space or a character outside of visible ASCII"));
}

}  // namespace

PemPaths PathsOf(const TlsOptions& tls) {
  return {.cert = tls.cert_file, .key = tls.key_file, .ca = tls.ca_file};
}

absl::StatusOr<std::string> ReadTokenFile(const std::string& path) {
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<FileSource> file, FileSource::Open(path));
  std::string text(std::min(file->size(), kMaxTokenFileBytes), '\0');
  PENSTOCK_RETURN_IF_ERROR(file->ReadAt(0, {reinterpret_cast<uint8_t*>(text.data()), text.size()}));
  absl::string_view token;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    token = absl::StripAsciiWhitespace(line);
    if (!token.empty() && token[0] != '#') break;
    token = {};
  }
  PENSTOCK_RETURN_IF_ERROR(CheckToken(token, path));
  return std::string(token);
}

bool IsLoopbackAddress(absl::string_view address) {
  const absl::string_view host = address.substr(0, address.rfind(':'));
  return host == "[::1]" || IsLoopbackHost(host);
}

ServerChannel::ServerChannel(std::string address, NetworkOptions options)
    : address_(std::move(address)),
      options_(std::move(options)),
      pem_files_(options_.tls.has_value() ? PathsOf(*options_.tls) : PemPaths()) {}

absl::Status ServerChannel::ReadChannel() {
  PENSTOCK_ASSIGN_OR_RETURN(std::optional<PemTexts> changed, pem_files_.Poll());
  if (!changed.has_value()) return absl::OkStatus();
  way_.channel = grpc::CreateCustomChannel(
      address_,
      options_.tls.has_value() ? TlsCredentials(*changed) : grpc::InsecureChannelCredentials(),
      ChannelOptions(options_));
  return absl::OkStatus();
}

absl::Status ServerChannel::ReadToken() {
  if (options_.token_file.empty()) return absl::OkStatus();
  if (!options_.tls.has_value() && !IsLoopbackAddress(address_)) {
    return absl::UnauthenticatedError(absl::StrCat(
        "the token of ", options_.token_file, " would travel in plaintext to ", address_,
        ", where anyone on the way can read it; give --tls (a server needs --tls-cert and "
        "--tls-key for it)"));
  }
  PENSTOCK_ASSIGN_OR_RETURN(way_.token, ReadTokenFile(options_.token_file));
  return absl::OkStatus();
}

absl::StatusOr<ServerChannel::Way> ServerChannel::Get() {
  MutexLock lock(&mutex_);
  if (absl::Status token = ReadToken(); !token.ok() && way_.token.empty()) return token;
  if (absl::Status channel = ReadChannel(); !channel.ok() && way_.channel == nullptr) {
    return channel;
  }
  return way_;
}

}  // namespace penstock
