// What `penstock bench` says of servers, however many there are.
#ifndef PENSTOCK_CLI_BENCH_SCREEN_H_
#define PENSTOCK_CLI_BENCH_SCREEN_H_

#include <string>
#include <vector>

#include "cli/bench_verdict.h"

namespace penstock {

inline constexpr size_t kMaxServerLines = 12;

// Stands above them: the shares are of the engine's threads, whose idle time the network may use.
std::string ServerHeading();

// A line for each server, in their order. Of more than kMaxServerLines: those that are not
// connected, the slowest, and the rest as a sum, so that a terminal of 24 lines holds all that
// the command prints.
std::vector<std::string> ServerLines(const std::vector<ServerFigures>& servers);

}  // namespace penstock

#endif  // PENSTOCK_CLI_BENCH_SCREEN_H_
