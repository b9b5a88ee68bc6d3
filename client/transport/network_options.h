// Options for reaching servers over the network.
#ifndef PENSTOCK_CLIENT_TRANSPORT_NETWORK_OPTIONS_H_
#define PENSTOCK_CLIENT_TRANSPORT_NETWORK_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>

namespace penstock {

// PEM files for TLS. They are read again for a new connection when they have changed.
struct TlsOptions {
  // CAs that may sign a server's certificate. If it is empty, the system's roots are used.
  std::string ca_file;
  std::string cert_file;  // This client's certificate, for servers that want one; needs key_file.
  std::string key_file;   // Should be readable only by this user.
  // Name in the server's certificate, if it is not the host of the address.
  std::string server_name;
};

struct NetworkOptions {
  std::optional<TlsOptions> tls = {};  // If it is absent, connections are in plaintext.
  // File with a bearer token: its first line that is neither empty nor begins with #. It is read
  // again for each stream. If it is empty, no token is sent. The token is only sent over TLS or to
  // loopback.
  std::string token_file = {};
  // Whether to take parts through shared memory if the server is on this machine and offers it.
  bool shared_memory = true;
  // Number of connections to each server, at most kMaxConnections. 0 means one at first, and up to
  // kGrowsTo while the open ones are saturated. A server counts each connection as a client.
  uint32_t connections = 0;
  static constexpr uint32_t kMaxConnections = 16;
  static constexpr uint32_t kGrowsTo = 2;
  uint32_t most_connections() const { return connections == 0 ? kGrowsTo : connections; }
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_NETWORK_OPTIONS_H_
