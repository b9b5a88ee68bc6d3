// HOST:PORT of a listener, and why it cannot be had.
#ifndef PENSTOCK_SERVER_LISTEN_ADDRESS_H_
#define PENSTOCK_SERVER_LISTEN_ADDRESS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

struct ListenAddress {
  std::string host;  // Without the brackets of IPv6.
  uint16_t port = 0;

  // Reached from this machine only: 127.0.0.0/8, ::1 and "localhost".
  bool IsLoopback() const;
};

// "127.0.0.1:7070", "[::1]:7070", "localhost:0". kInvalidArgument otherwise.
absl::StatusOr<ListenAddress> ParseListenAddress(absl::string_view text);

// kInvalidArgument: the host is a name that cannot be resolved. May ask a name server.
absl::Status CheckListenHost(const ListenAddress& address);

// Binds `address` for a moment and says what stands in the way: kUnavailable with the process that
// holds the port where /proc shows it; kPermissionDenied; kInvalidArgument for a host that is not
// this machine's. OK when it is free.
absl::Status ProbeListenAddress(const ListenAddress& address);

// Where others reach a listener at `address`: `host` in the place of its host; if that is empty,
// and it listens on every address of this machine, the machine's name.
std::string ReachableAddress(const std::string& address, absl::string_view host);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_LISTEN_ADDRESS_H_
