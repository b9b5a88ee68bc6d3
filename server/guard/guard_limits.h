// The limits of ConnectionGuard. docs/reference/limits.md lists them.
#ifndef PENSTOCK_SERVER_GUARD_GUARD_LIMITS_H_
#define PENSTOCK_SERVER_GUARD_GUARD_LIMITS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "records/wire/limits.h"

namespace penstock {

struct GuardLimits {
  // Maximum number of bytes of one connection for which nothing accounts. The three limits apply to
  //   - strangers: room for a TLS handshake with certificates, headers with a token, and the 64 KiB
  //     of messages that HTTP/2 allows before the server has sent anything
  //   - connections with a call that was let in: a Hello may also be on its way
  //   - clients, after Hello: the largest message may be on its way
  uint64_t stranger_bytes = uint64_t{96} << 10;
  uint64_t invited_bytes = (uint64_t{96} << 10) + wire::kMaxHelloBytes;
  // Twice the size of the largest message, because gRPC refuses a message that is too large only
  // once it has it.
  uint64_t client_bytes = 2 * wire::kMaxClientMessageBytes;
  // Bytes per second that a connection may send for nothing: PING, SETTINGS and WINDOW_UPDATE. The
  // more a connection receives, the more WINDOW_UPDATEs it sends.
  uint64_t free_bytes_per_second = 64;
  uint64_t sent_bytes_per_free_byte = 32;
  // For a connection with only health calls answered: the limit of bytes for which nothing accounts
  // since its last answered call. Free bytes are not subtracted. The connection may keep this many
  // bytes in headers that do not end.
  uint64_t quiet_bytes = uint64_t{32} << 10;
  // Seconds for which bytes may stay without anything that accounts for them.
  double stalled_seconds = 30;
  // Number of answered calls per second that account for all bytes that a call's headers can use.
  double full_calls_per_second = 10;
  // Maximum number of calls of one connection that were not both let in and answered. gRPC reports
  // a few answered calls as cancelled.
  double calls = 200;
  double calls_per_second = 2000;
  // Maximum number of calls of one connection that wait for their request at a time. gRPC tells
  // clients the limit kMaxCallsPerConnection, but enforces it only for clients that acknowledge it.
  uint64_t waiting_calls = 40;
  // gRPC's memory may grow by this much while connections send bytes for which nothing accounts,
  // besides what each new connection uses. Beyond it, those that sent most of these bytes are cut
  // off.
  uint64_t memory_growth = uint64_t{8} << 20;
  uint64_t memory_of_connection = uint64_t{192} << 10;
  // Maximum number of connections without an answered call that gRPC has at a time. Others wait
  // unread.
  size_t strangers = 3;
  size_t strangers_of_host = 2;
  size_t waiting = 512;  // Reduced to a sixteenth of the descriptor limit if that is less.
  // Maximum numbers of connections on which only health calls were answered (known), and of those
  // that were let in and have sent no Hello (invited). If one more comes, the server closes the
  // least recently active one of the host that has the most.
  size_t known = 64;
  size_t known_of_host = 24;
  size_t invited = 512;
  size_t invited_of_host = 128;
  // After this time a stranger gives its place to one that waits.
  std::chrono::milliseconds patience{1000};
  // For `penalty` after a cut, its host may have one stranger at a time, and a new one every
  // `spacing`.
  std::chrono::milliseconds penalty{10'000};
  std::chrono::milliseconds spacing{150};
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_GUARD_GUARD_LIMITS_H_
