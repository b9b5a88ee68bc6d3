// One server over several connections: one TCP connection is one thread's work at a time on either
// side, which a fast link outruns.
#ifndef PENSTOCK_CLIENT_TRANSPORT_BUNDLE_BUNDLE_TRANSPORT_H_
#define PENSTOCK_CLIENT_TRANSPORT_BUNDLE_BUNDLE_TRANSPORT_H_

#include <memory>
#include <vector>

#include "client/transport/transport.h"

namespace penstock {

// A stream is one stream of each of `ways`, which lead to the same server and are at least one.
// Each window, with all its requests, goes to the one that has the fewest. The server's Hello is
// told when the last one has it, its credit is that of all together, and the first that breaks ends
// the whole. kFailedPrecondition: the ways lead to different servers, as a load balancer makes
// them.
std::unique_ptr<Transport> MakeBundleTransport(std::vector<std::unique_ptr<Transport>> ways);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_BUNDLE_BUNDLE_TRANSPORT_H_
