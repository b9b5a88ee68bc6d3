// The flags that say how servers are reached: of every program that speaks to them.
#ifndef PENSTOCK_CLIENT_FLAGS_NETWORK_FLAGS_H_
#define PENSTOCK_CLIENT_FLAGS_NETWORK_FLAGS_H_

#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/transport/network_options.h"

namespace penstock {

struct NetworkFlags {
  bool tls = false;
  TlsOptions tls_files;
  std::string token_file;
};

// --tls, --tls-ca, --tls-cert, --tls-key, --tls-server-name and --token-file. `flags` must outlive
// `app`.
void AddNetworkFlags(CLI::App& app, NetworkFlags& flags);

// Reads no file. kInvalidArgument: files without --tls, or a certificate without its key.
absl::StatusOr<NetworkOptions> ToNetworkOptions(const NetworkFlags& flags);

// Reads the files. The errors of LoadPemFiles() and of ReadTokenFile(), with the flag in front.
// What an operator should know of good ones (that one has expired) is added to `warnings`, a line
// each.
absl::Status CheckNetworkFiles(const NetworkOptions& network, std::vector<std::string>& warnings);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FLAGS_NETWORK_FLAGS_H_
