// Formats the output of `penstock bench`: one screen of 24 lines of 80 columns for any number of
// servers.
#ifndef PENSTOCK_CLI_STREAM_BENCH_SCREEN_H_
#define PENSTOCK_CLI_STREAM_BENCH_SCREEN_H_

#include <string>
#include <vector>

#include "cli/stream/bench_verdict.h"

namespace penstock {

inline constexpr size_t kMaxServerLines = 12;

// Returns the whole screen; no line is wider than 80 columns.
std::vector<std::string> BenchLines(const BenchFigures& figures, const BenchVerdict& verdict);

// Returns the heading of the servers' lines. The shares are of the engine's threads; the network
// may use their idle time.
std::string ServerHeading();

// Returns a line for each server, in their order; a server that is not connected has up to three.
// If that is more than `most` lines, returns the servers that are not connected, then the slowest,
// then the sum of the rest. Addresses are shortened as in narrow_text.h. REQUIRES: most > 6.
std::vector<std::string> ServerLines(const std::vector<ServerFigures>& servers,
                                     size_t most = kMaxServerLines);

}  // namespace penstock

#endif  // PENSTOCK_CLI_STREAM_BENCH_SCREEN_H_
