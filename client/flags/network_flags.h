// The flags that say how to reach servers. Every program that talks to servers has them.
#ifndef PENSTOCK_CLIENT_FLAGS_NETWORK_FLAGS_H_
#define PENSTOCK_CLIENT_FLAGS_NETWORK_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/transport/network_options.h"

namespace CLI {
class App;
}

namespace penstock {

struct NetworkFlags {
  bool tls = false;
  TlsOptions tls_files;
  std::string token_file;
};

// Adds --tls, --tls-ca, --tls-cert, --tls-key, --tls-server-name and --token-file. `flags` must
// outlive `app`. Sets the group of the options that are added next.
void AddNetworkFlags(CLI::App& app, NetworkFlags& flags);

// Reads no file. kInvalidArgument: files are given without --tls, or a certificate without its key.
absl::StatusOr<NetworkOptions> ToNetworkOptions(const NetworkFlags& flags);

// Reads the files. Errors are those of LoadPemFiles() and ReadTokenFile(), with the flag in front.
// If a valid file deserves a warning, such as an expired certificate, one line is added to
// `warnings`.
absl::Status CheckNetworkFiles(const NetworkOptions& network, std::vector<std::string>& warnings);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FLAGS_NETWORK_FLAGS_H_
