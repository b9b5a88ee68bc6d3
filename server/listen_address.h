// HOST:PORT of a listener, and why it cannot be had.
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

// Who listens on a TCP port of this machine.
// "penstock-server (process 4711)", from /proc. Empty when nobody listens there or the process is
// another user's. For error messages.
std::string DescribePortOwner(uint16_t port);

struct ListenAddress {
  std::string host;  // Without the brackets of IPv6.
  uint16_t port = 0;

  // Reached from this machine only.
  bool IsLoopback() const { return IsLoopbackHost(host); }
};

// "127.0.0.1:7070", "[::1]:7070", "localhost:0". kInvalidArgument otherwise.
absl::StatusOr<ListenAddress> ParseListenAddress(absl::string_view text);

// Whether the two cannot both be had, as far as their text says. Free ports differ.
bool Overlap(const ListenAddress& a, const ListenAddress& b);

// A list of getaddrinfo(), freed with it; at least one.
using ResolvedAddresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

// kInvalidArgument: the host is a name that cannot be resolved. May ask a name server.
absl::StatusOr<ResolvedAddresses> ResolveListenHost(const ListenAddress& address);
absl::Status CheckListenHost(const ListenAddress& address);

// What stood in the way of a listener at `address`, by errno: kUnavailable with the process that
// holds the port where /proc shows it; kPermissionDenied; kInvalidArgument for a host that is not
// this machine's.
absl::Status ExplainBindError(int error, const ListenAddress& address);

// A name, or an address of IPv4 or IPv6, with or without brackets. kInvalidArgument otherwise: a
// port behind it, a space.
absl::Status CheckReachableHost(absl::string_view host);

// Where others reach a listener at `address`: `host` in the place of its host; if that is empty,
// and it listens on every address of this machine, the machine's name. REQUIRES: a host, or none.
std::string ReachableAddress(const std::string& address, absl::string_view host);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_LISTEN_ADDRESS_H_
