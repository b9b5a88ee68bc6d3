// Limits on what clients may use of a server at once. docs/reference/limits.md lists them.
#ifndef PENSTOCK_SERVER_SERVICE_LIMITS_H_
#define PENSTOCK_SERVER_SERVICE_LIMITS_H_

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace penstock {

struct ServiceLimits {
  static constexpr size_t kMostStreams = 65536;
  // A stream counts from the start of its call, before its Hello.
  size_t max_streams = 1024;
  size_t max_streams_per_host = 512;  // Limit for each client address.
  // Limit for Manifest calls, and for Stats calls.
  size_t max_calls = 16;
  size_t max_calls_per_host = 8;
  size_t max_health_watches = 256;  // Limit for each port.
  // Time limit for a stream to send its Hello, and for a client to take a part of a call's answer.
  absl::Duration hello_timeout = absl::Seconds(10);
  absl::Duration call_timeout = absl::Seconds(30);
  // Maximum number of bytes of the messages that defined the open windows: of one stream, and of
  // all streams.
  uint64_t max_stream_definition_bytes = uint64_t{64} << 20;
  uint64_t max_definition_bytes = uint64_t{512} << 20;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_SERVICE_LIMITS_H_
