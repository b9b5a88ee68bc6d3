// What is said over the socket that ServerHello.shm_socket names (SOCK_SEQPACKET).
#ifndef PENSTOCK_RECORDS_WIRE_SHARED_MEMORY_H_
#define PENSTOCK_RECORDS_WIRE_SHARED_MEMORY_H_

#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace penstock::wire {

// The client sends its ticket as one message.
inline constexpr size_t kMaxTicketBytes = 64;
// The server answers with this and one descriptor (SCM_RIGHTS), or with the reason why not.
inline constexpr absl::string_view kPoolGranted = "ok";
inline constexpr size_t kMaxDoorReplyBytes = 512;

// Whether gRPC's name of a peer ("ipv4:127.0.0.1:7070") is of this machine: no other is told of the
// socket, and no other's word for one is taken.
inline bool IsLoopbackPeer(absl::string_view peer) {
  return absl::StartsWith(peer, "ipv4:127.") || absl::StartsWith(peer, "ipv6:[::1]") ||
         absl::StartsWith(peer, "ipv6:%5B::1%5D") || absl::StartsWith(peer, "unix:");
}

}  // namespace penstock::wire

#endif  // PENSTOCK_RECORDS_WIRE_SHARED_MEMORY_H_
