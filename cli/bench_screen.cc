#include "cli/bench_screen.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "records/base/byte_size.h"
#include "records/base/text.h"

namespace penstock {
namespace {

constexpr size_t kMaxAwayLines = 5;

bool IsAway(const ServerFigures& server) {
  return !server.connected && server.rows_per_second == 0;
}

std::string AwayLine(const ServerFigures& server) {
  return absl::StrFormat("server    %-24s not connected: %s", server.address,
                         server.problem.empty() ? "no answer yet" : server.problem);
}

// "2", "1.5".
std::string CoresText(double cores) { return absl::StrCat(std::round(10 * cores) / 10); }

std::string RateLine(const ServerFigures& server) {
  std::string line = absl::StrFormat("server    %-24s %11s/s %11s", server.address,
                                     Grouped(static_cast<uint64_t>(server.rows_per_second)),
                                     FormatByteRate(server.bytes_per_second));
  if (!server.has_engine) return line;
  const EngineShares& engine = server.engine;
  absl::StrAppendFormat(&line, "  %3.0f %%  %3.0f %%  %3.0f %%  %3.0f %%  %.1f of %s",
                        100 * engine.load, 100 * (engine.build + engine.decode), 100 * engine.send,
                        100 * std::max(0.0, engine.idle()), server.cores_used,
                        CoresText(server.cores));
  return line;
}

// All of them as one server. Its engine's shares are of the cores of those that told theirs.
ServerFigures Sum(std::span<const ServerFigures> servers) {
  ServerFigures sum{.address = absl::StrCat(servers.size(), " others together")};
  for (const ServerFigures& server : servers) {
    sum.rows_per_second += server.rows_per_second;
    sum.bytes_per_second += server.bytes_per_second;
    if (!server.has_engine || server.cores == 0) continue;
    const auto weigh = [&](double before, double share) {
      return (before * sum.cores + share * server.cores) / (sum.cores + server.cores);
    };
    sum.engine = {.load = weigh(sum.engine.load, server.engine.load),
                  .build = weigh(sum.engine.build, server.engine.build),
                  .decode = weigh(sum.engine.decode, server.engine.decode),
                  .send = weigh(sum.engine.send, server.engine.send)};
    sum.has_engine = true;
    sum.cores += server.cores;
    sum.cores_used += server.cores_used;
  }
  return sum;
}

// Those that are away, as many lines as they may take.
std::vector<std::string> AwayLines(std::span<const ServerFigures> away) {
  std::vector<std::string> lines;
  const size_t named = away.size() > kMaxAwayLines ? kMaxAwayLines - 1 : away.size();
  for (const ServerFigures& server : away.first(named)) lines.push_back(AwayLine(server));
  if (named < away.size()) {
    lines.push_back(absl::StrFormat("server    %-24s not connected",
                                    absl::StrCat(away.size() - named, " more")));
  }
  return lines;
}

}  // namespace

std::string ServerHeading() {
  return absl::StrFormat("%60s%7s%7s%7s%7s  %s", "engine's threads:", "load", "decode", "send",
                         "idle", "cores used");
}

std::vector<std::string> ServerLines(const std::vector<ServerFigures>& servers) {
  std::vector<std::string> lines;
  if (servers.size() <= kMaxServerLines) {
    for (const ServerFigures& server : servers) {
      lines.push_back(IsAway(server) ? AwayLine(server) : RateLine(server));
    }
    return lines;
  }
  std::vector<ServerFigures> sorted = servers;
  std::ranges::stable_sort(sorted, {}, &ServerFigures::rows_per_second);
  const auto here = std::stable_partition(sorted.begin(), sorted.end(), IsAway);
  lines = AwayLines({sorted.begin(), here});
  const std::span<const ServerFigures> rates(here, sorted.end());
  const bool all = rates.size() <= kMaxServerLines - lines.size();
  const size_t slowest = all ? rates.size() : kMaxServerLines - lines.size() - 1;
  for (const ServerFigures& server : rates.first(slowest)) lines.push_back(RateLine(server));
  if (!all) lines.push_back(RateLine(Sum(rates.subspan(slowest))));
  return lines;
}

}  // namespace penstock
