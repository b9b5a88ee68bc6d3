// How much a link carries when nothing else is to be done.
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
// transports that a loader of these options would use, and drops the answers uncopied. No server
// reads its disk, the rows stay in its cache, and its other clients are served beside: what arrives
// in a second is the ceiling of the path from the server's buffers to this process, gRPC and TLS
// included. Returns bytes of rows a second over all servers, counted for `time` once each has
// answered.
//
// `addresses` not empty; "local:" is not among them. kDeadlineExceeded: not all had answered within
// options.server_timeout; else the first error of a server.
absl::StatusOr<double> ProbeLink(const LoaderOptions& options, WireDtype dtype,
                                 const std::vector<std::string>& addresses, absl::Duration time);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_LINK_PROBE_H_
