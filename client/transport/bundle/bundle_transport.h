// Reaches one server over several connections. On either side one TCP connection is work for one
// thread at a time, and a fast link can carry more than that thread does.
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

// Says when a stream adds a connection.
struct BundleGrowth {
  using Clock = std::chrono::steady_clock;

  // Number of connections that are opened at once.
  size_t first = 1;
  // The open connections are saturated when each carries this many bytes of parts per second on
  // average. None is added once shared memory is used. One connection carries 2 to 3 GB/s on
  // loopback between two cores (bench/RESULTS.md), and less if cores are slower or TLS encrypts.
  uint64_t bytes_per_second = uint64_t{512} << 20;
  // The rate is measured over this time.
  Clock::duration period = std::chrono::seconds(1);
  std::function<Clock::time_point()> now = Clock::now;
};

// Makes a transport whose streams consist of one stream of each of `ways`. There is at least one,
// and all must lead to the same server.
//
// Each window, with all its requests, goes to the stream that has the fewest windows. The server's
// Hello is passed on when the last stream has it. The credit is the sum of all streams' credits.
// The first stream that breaks ends all of them. kFailedPrecondition: the streams reach different
// servers, as behind a load balancer.
std::unique_ptr<Transport> MakeBundleTransport(std::vector<std::unique_ptr<Transport>> ways);

// Like MakeBundleTransport(), but starts with the first `growth.first` of `ways`. The others are
// added one after the other while those in use are saturated. If one fails to connect or reaches
// another server, it is left alone, no further one is added, and ConnectionGivenUp is reported.
std::unique_ptr<Transport> MakeGrowingTransport(std::vector<std::unique_ptr<Transport>> ways,
                                                BundleGrowth growth);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_BUNDLE_BUNDLE_TRANSPORT_H_
