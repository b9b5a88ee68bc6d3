// Measures how much a link carries when nothing else limits it.
#ifndef PENSTOCK_CLIENT_LOADER_LINK_PROBE_H_
#define PENSTOCK_CLIENT_LOADER_LINK_PROBE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/dtype.h"
#include "client/loader/loader.h"

namespace penstock {

// Asks each server for the same few rows of one window of the plan, over and over, through the
// transports that a loader with these options would use, and drops the answers without copying
// them. Servers read no disk for this, the rows stay in their caches, and their other clients are
// served as usual. So the rate is the ceiling of the path from the server's buffers to this
// process, including gRPC and TLS.
//
// Blocks. Counts for `time` once each server has answered. Returns bytes of rows per second over
// all servers. REQUIRES: `addresses` is not empty and does not contain "local:". Errors:
// kDeadlineExceeded if not all servers answered within options.server_timeout, otherwise the first
// error of a server.
absl::StatusOr<double> ProbeLink(const LoaderOptions& options, WireDtype dtype,
                                 const std::vector<std::string>& addresses, absl::Duration time);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_LINK_PROBE_H_
