// One server over several connections: one TCP connection is one thread's work at a time on either
// side, which a fast link outruns.
#ifndef PENSTOCK_CLIENT_TRANSPORT_BUNDLE_BUNDLE_TRANSPORT_H_
#define PENSTOCK_CLIENT_TRANSPORT_BUNDLE_BUNDLE_TRANSPORT_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "client/transport/transport.h"

namespace penstock {

// When a stream takes another way.
struct BundleGrowth {
  using Clock = std::chrono::steady_clock;

  // Ways that are taken at once.
  size_t first = 1;
  // Parts of so many bytes a second, for each way that is taken: they are saturated. Shared memory
  // is no reason to take more. One connection carries 2 to 3 GB/s on loopback between two cores,
  // bench/RESULTS.md, less where cores are slower or TLS ciphers.
  uint64_t bytes_per_second = uint64_t{512} << 20;
  // Over so long.
  Clock::duration period = std::chrono::seconds(1);
  std::function<Clock::time_point()> now = Clock::now;
};

// A stream is one stream of each of `ways`, which lead to the same server and are at least one.
// Each window, with all its requests, goes to the one that has the fewest. The server's Hello is
// told when the last one has it, its credit is that of all together, and the first that breaks ends
// the whole. kFailedPrecondition: the ways lead to different servers, as a load balancer makes
// them.
std::unique_ptr<Transport> MakeBundleTransport(std::vector<std::unique_ptr<Transport>> ways);

// The same, of the first ways; the others are taken one after the other while those taken are
// saturated, and left alone for good when one of them fails to connect, or leads to another server;
// ConnectionGivenUp says so.
std::unique_ptr<Transport> MakeGrowingTransport(std::vector<std::unique_ptr<Transport>> ways,
                                                BundleGrowth growth);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_BUNDLE_BUNDLE_TRANSPORT_H_
