#include "client/flags/network_flags.h"

#include "CLI/CLI.hpp"
#include "absl/time/clock.h"
#include "base/flags/path_flags.h"
#include "base/status.h"
#include "base/tls/pem_files.h"
#include "client/transport/grpc/server_channel.h"

namespace penstock {
namespace {

absl::Status CheckPemFiles(absl::string_view flags, const PemPaths& paths,
                           std::vector<std::string>& warnings) {
  absl::StatusOr<PemTexts> texts = LoadPemFiles(paths, absl::Now());
  if (!texts.ok()) return Annotate(texts.status(), flags);
  warnings.insert(warnings.end(), texts->warnings.begin(), texts->warnings.end());
  return absl::OkStatus();
}

}  // namespace

void AddNetworkFlags(CLI::App& app, NetworkFlags& flags) {
  app.option_defaults()->group("Security");
  app.add_flag("--tls", flags.tls, "Connect to servers by TLS");
  app.add_option(
         "--tls-ca", flags.tls_files.ca_file,
         "PEM file of the CAs that may sign a server's certificate; empty: the system's CAs")
      ->type_name("FILE");
  app.add_option("--tls-cert", flags.tls_files.cert_file,
                 "PEM file of this client's certificate, for servers that require one")
      ->type_name("FILE");
  app.add_option("--tls-key", flags.tls_files.key_file, "PEM file of the key of --tls-cert")
      ->type_name("FILE");
  app.add_option("--tls-server-name", flags.tls_files.server_name,
                 "Name in the servers' certificates; empty: the host of the address")
      ->type_name("NAME");
  app.add_option("--token-file", flags.token_file,
                 "File with the bearer token, for servers that require one")
      ->type_name("FILE")
      ->envname("PENSTOCK_TOKEN_FILE");
}

absl::StatusOr<NetworkOptions> ToNetworkOptions(const NetworkFlags& flags) {
  NetworkOptions network{.token_file = flags.token_file};
  const TlsOptions& files = flags.tls_files;
  if (files.cert_file.empty() != files.key_file.empty()) {
    return absl::InvalidArgumentError("--tls-cert and --tls-key must be given together");
  }
  if (flags.tls) {
    network.tls = files;
  } else if (!files.ca_file.empty() || !files.cert_file.empty() || !files.server_name.empty()) {
    return absl::InvalidArgumentError(
        "--tls-ca, --tls-cert, --tls-key and --tls-server-name need --tls");
  }
  return network;
}

absl::Status CheckNetworkFiles(const NetworkOptions& network, std::vector<std::string>& warnings) {
  if (network.tls.has_value()) {
    const TlsOptions& files = *network.tls;
    if (!files.ca_file.empty()) {
      PENSTOCK_RETURN_IF_ERROR(CheckExists("--tls-ca", files.ca_file,
                                           "give the PEM file of the CA that signed the servers' "
                                           "certificates"));
    }
    PENSTOCK_RETURN_IF_ERROR(CheckPemFiles("--tls-ca", {.ca = files.ca_file}, warnings));
    PENSTOCK_RETURN_IF_ERROR(CheckPemFiles(
        "--tls-cert, --tls-key", {.cert = files.cert_file, .key = files.key_file}, warnings));
  }
  if (network.token_file.empty()) return absl::OkStatus();
  PENSTOCK_RETURN_IF_ERROR(CheckExists("--token-file", network.token_file,
                                       "give the file that has this client's token"));
  return Annotate(ReadTokenFile(network.token_file).status(), "--token-file");
}

}  // namespace penstock
