// The messages on the socket that ServerHello.shm_socket names (SOCK_SEQPACKET).
#ifndef PENSTOCK_RECORDS_WIRE_SHARED_MEMORY_H_
#define PENSTOCK_RECORDS_WIRE_SHARED_MEMORY_H_

#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace penstock::wire {

// The client sends its ticket as one message.
inline constexpr size_t kMaxTicketBytes = 64;
// The server answers with this word and one descriptor (SCM_RIGHTS), or with the reason for a
// refusal.
inline constexpr absl::string_view kPoolGranted = "ok";
inline constexpr size_t kMaxDoorReplyBytes = 512;

// Whether `peer`, as gRPC names it ("ipv4:127.0.0.1:7070"), is on this machine. Servers name the
// socket only to such clients, and clients accept the name only from such servers.
inline bool IsLoopbackPeer(absl::string_view peer) {
  return absl::StartsWith(peer, "ipv4:127.") || absl::StartsWith(peer, "ipv6:[::1]") ||
         absl::StartsWith(peer, "ipv6:%5B::1%5D") || absl::StartsWith(peer, "unix:");
}

}  // namespace penstock::wire

#endif  // PENSTOCK_RECORDS_WIRE_SHARED_MEMORY_H_
