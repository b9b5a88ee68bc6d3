// Parses HOST:PORT of a listener, and explains why a port cannot be used.
#ifndef PENSTOCK_SERVER_LISTEN_ADDRESS_H_
#define PENSTOCK_SERVER_LISTEN_ADDRESS_H_

#include <netdb.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/io/loopback.h"

namespace penstock {

// Returns who listens on a TCP port of this machine, from /proc, for error messages:
// "penstock-server (process 4711)". Returns an empty string if nobody listens there, or if the
// process belongs to another user.
std::string DescribePortOwner(uint16_t port);

struct ListenAddress {
  std::string host;  // Without the brackets of IPv6.
  uint16_t port = 0;

  // Whether it can only be reached from this machine.
  bool IsLoopback() const { return IsLoopbackHost(host); }
};

// Parses "127.0.0.1:7070", "[::1]:7070", "localhost:0". Returns kInvalidArgument for anything else.
absl::StatusOr<ListenAddress> ParseListenAddress(absl::string_view text);

// Whether the two addresses cannot be used together, judged by their text. Two free ports differ.
bool Overlap(const ListenAddress& a, const ListenAddress& b);

// A list from getaddrinfo(), which is freed with it. It has at least one entry.
using ResolvedAddresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

// kInvalidArgument: the host is a name that cannot be resolved. May ask a name server.
absl::StatusOr<ResolvedAddresses> ResolveListenHost(const ListenAddress& address);
// Fails as ResolveListenHost() does.
absl::Status CheckListenHost(const ListenAddress& address);

// Explains why listening at `address` failed. kUnavailable: the port is in use; names the process
// if /proc shows it. kPermissionDenied: this user may not use the port. kInvalidArgument: the host
// is not an address of this machine.
absl::Status ExplainBindError(int error, const ListenAddress& address);

// Returns OK for a name, or an IPv4 or IPv6 address with or without brackets. Returns
// kInvalidArgument otherwise, for example for a host with a port or a space.
absl::Status CheckReachableHost(absl::string_view host);

// Returns the address at which others reach a listener at `address`, with `host` in place of its
// host. If `host` is empty and the listener listens on every address of this machine, uses the
// machine's name. REQUIRES: `host` is empty or passes CheckReachableHost().
std::string ReachableAddress(const std::string& address, absl::string_view host);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_LISTEN_ADDRESS_H_
