// What clients may take of a server at once. docs/reference/limits.md lists them.
#ifndef PENSTOCK_SERVER_SERVICE_LIMITS_H_
#define PENSTOCK_SERVER_SERVICE_LIMITS_H_

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace penstock {

struct ServiceLimits {
  static constexpr size_t kMostStreams = 65536;
  // A stream counts from its call on, before its Hello too.
  size_t max_streams = 1024;
  size_t max_streams_per_host = 512;  // Of one client address.
  size_t max_calls = 16;              // Of Manifest, and of Stats.
  size_t max_calls_per_host = 8;
  size_t max_health_watches = 256;  // Of each port.
  // How long a stream may be without a Hello, and a call's answer without a part that was taken.
  absl::Duration hello_timeout = absl::Seconds(10);
  absl::Duration call_timeout = absl::Seconds(30);
  // Messages that defined the windows that are open: of one stream, and of all.
  uint64_t max_stream_definition_bytes = uint64_t{64} << 20;
  uint64_t max_definition_bytes = uint64_t{512} << 20;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_SERVICE_LIMITS_H_
