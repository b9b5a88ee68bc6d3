// What `penstock bench` prints: one screen of 24 lines of 80 columns, however many servers there
// are.
#ifndef PENSTOCK_CLI_STREAM_BENCH_SCREEN_H_
#define PENSTOCK_CLI_STREAM_BENCH_SCREEN_H_

#include <string>
#include <vector>

#include "cli/stream/bench_verdict.h"

namespace penstock {

inline constexpr size_t kMaxServerLines = 12;

// All of it; no line is wider than 80 columns.
std::vector<std::string> BenchLines(const BenchFigures& figures, const BenchVerdict& verdict);

// Stands above those of servers: the shares are of the engine's threads, whose idle time the
// network may use.
std::string ServerHeading();

// A line for each server, in their order; of one that is not connected up to three. Where that
// would be more than `most`: those that are not connected, the slowest, and the rest as a sum.
// Addresses are narrow_text.h's. REQUIRES: most > 6.
std::vector<std::string> ServerLines(const std::vector<ServerFigures>& servers,
                                     size_t most = kMaxServerLines);

}  // namespace penstock

#endif  // PENSTOCK_CLI_STREAM_BENCH_SCREEN_H_
