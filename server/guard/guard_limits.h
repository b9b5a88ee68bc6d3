// What ConnectionGuard allows. docs/reference/limits.md lists it.
#ifndef PENSTOCK_SERVER_GUARD_GUARD_LIMITS_H_
#define PENSTOCK_SERVER_GUARD_GUARD_LIMITS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "records/wire/limits.h"

namespace penstock {

struct GuardLimits {
  // Bytes of one connection that nothing accounts for: before a call was let in (a TLS handshake
  // with certificates, headers with a token, and the 64 KiB of messages that HTTP/2 allows before
  // the server has said a word), once one was (a Hello may be on its way), and after a Hello (the
  // largest message may be).
  uint64_t stranger_bytes = uint64_t{96} << 10;
  uint64_t invited_bytes = (uint64_t{96} << 10) + wire::kMaxHelloBytes;
  // gRPC refuses a message that is too large once it has it, and says so.
  uint64_t client_bytes = 2 * wire::kMaxClientMessageBytes;
  // A connection may send these for nothing: PING, SETTINGS, and WINDOW_UPDATE, of which there are
  // the more the more it is sent.
  uint64_t free_bytes_per_second = 64;
  uint64_t sent_bytes_per_free_byte = 32;
  // The limit of such bytes since the last answered call, none of them free, for a connection that
  // has had only health calls answered. It may keep so many in headers that do not end.
  uint64_t quiet_bytes = uint64_t{32} << 10;
  // Bytes that nothing accounts for may stay so long.
  double stalled_seconds = 30;
  // Answered calls that account for all that a call's headers can take, each second.
  double full_calls_per_second = 10;
  // Calls of one connection that were not let in and answered. gRPC calls a few that were answered
  // cancelled.
  double calls = 200;
  double calls_per_second = 2000;
  // Calls of one connection that wait for their request at a time. gRPC tells clients a limit,
  // kMaxCallsPerConnection, but holds only those to it that acknowledge it.
  uint64_t waiting_calls = 40;
  // gRPC's memory may grow by so much while connections send what nothing accounts for, besides
  // what each new connection takes. Those that sent most of it are then cut off.
  uint64_t memory_growth = uint64_t{8} << 20;
  uint64_t memory_of_connection = uint64_t{192} << 10;
  // Connections without an answered call that gRPC has at a time. Others wait unread.
  size_t strangers = 3;
  size_t strangers_of_host = 2;
  size_t waiting = 512;  // Or a sixteenth of the descriptors, if that is less.
  // Connections that had health calls answered and no other; and those that were let in and have
  // not said Hello. A further one replaces the one that was active least lately of the host that
  // has most.
  size_t known = 64;
  size_t known_of_host = 24;
  size_t invited = 512;
  size_t invited_of_host = 128;
  // A stranger gives its place to one that waits after this time.
  std::chrono::milliseconds patience{1000};
  // For so long after a cut its host has one stranger at a time, and one each `spacing`.
  std::chrono::milliseconds penalty{10'000};
  std::chrono::milliseconds spacing{150};
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_GUARD_GUARD_LIMITS_H_
