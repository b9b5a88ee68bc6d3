// How servers are reached over the network.
#ifndef PENSTOCK_CLIENT_TRANSPORT_NETWORK_OPTIONS_H_
#define PENSTOCK_CLIENT_TRANSPORT_NETWORK_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>

namespace penstock {

// Files are PEM and read again for a new connection when they have changed.
struct TlsOptions {
  std::string ca_file;      // Who may sign a server's certificate; empty: the system's roots.
  std::string cert_file;    // Of this client, for servers that want one; with key_file.
  std::string key_file;     // Readable by this user alone.
  std::string server_name;  // The certificate's, where it is not the host of the address.
};

struct NetworkOptions {
  std::optional<TlsOptions> tls = {};  // Absent: plaintext.
  // File whose first line is a bearer token, read again for each stream; empty: none is sent. It
  // travels over TLS or to loopback only.
  std::string token_file = {};
  // Take parts through shared memory where the server is on this machine and offers it.
  bool shared_memory = true;
  // To each server, at most kMaxConnections; 0: one, and up to kGrowsTo while those that are open
  // are saturated. A server counts each as a client.
  uint32_t connections = 0;
  static constexpr uint32_t kMaxConnections = 16;
  static constexpr uint32_t kGrowsTo = 2;
  uint32_t most_connections() const { return connections == 0 ? kGrowsTo : connections; }
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_NETWORK_OPTIONS_H_
