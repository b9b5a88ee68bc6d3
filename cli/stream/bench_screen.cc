#include "cli/stream/bench_screen.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/byte_size.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/wrap_words.h"
#include "cli/terminal/narrow_text.h"

namespace penstock {
namespace {

constexpr size_t kLines = 23;  // The 24th line is for the shell's prompt.
constexpr size_t kLabelColumns = 10;
constexpr size_t kMinServerLines = 7;
constexpr size_t kMaxAwayLines = 5;

using Lines = std::vector<std::string>;

void Append(const Lines& more, Lines& lines) {
  lines.insert(lines.end(), more.begin(), more.end());
}

// Returns "LABEL     TEXT", with further lines indented to the text.
Lines Labelled(absl::string_view label, absl::string_view text) {
  return WrapWords(absl::StrFormat("%-10s%s", label, text), kUsualColumns, kLabelColumns);
}

bool IsAway(const ServerFigures& server) {
  return !server.connected && server.rows_per_second == 0;
}

Lines AwayLines(const ServerFigures& server) {
  const std::string text =
      absl::StrFormat("%-21s not connected: %s", server.address,
                      server.problem.empty() ? "no answer yet" : server.problem);
  return FirstLines(Labelled("server", text), kMaxCauseLines, kUsualColumns);
}

// Returns "2", "1.5", "212".
std::string CoresText(double cores) {
  return cores < 99.95 ? absl::StrCat(std::round(10 * cores) / 10) : ShortWhole(cores);
}

// The line has at most 80 columns.
std::string RateLine(const ServerFigures& server) {
  std::string line =
      absl::StrFormat("server    %-21s %5s/s %5s/s", server.address,
                      ShortCount(server.rows_per_second), ShortBytes(server.bytes_per_second));
  if (!server.has_engine) return line;
  const EngineShares& engine = server.engine;
  absl::StrAppendFormat(&line, "%5s%7s%5s%5s %s/%s", ShortPercent(engine.load),
                        ShortPercent(engine.build + engine.decode), ShortPercent(engine.send),
                        ShortPercent(std::max(0.0, engine.idle())), ShortCores(server.cores_used),
                        CoresText(server.cores));
  return line;
}

// Sums all servers up as one. The engine's shares are weighted by the cores of the servers that
// reported them.
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

// Lists servers that are not connected, in as many lines as they may take.
Lines AwayLines(std::span<const ServerFigures> away) {
  Lines lines;
  size_t named = 0;
  for (; named < away.size(); ++named) {
    const Lines more = AwayLines(away[named]);
    const size_t of_rest = named + 1 < away.size() ? 1 : 0;
    if (lines.size() + more.size() + of_rest > kMaxAwayLines) break;
    Append(more, lines);
  }
  if (named < away.size()) {
    const std::string rest = absl::StrCat(away.size() - named, " more");
    Append(Labelled("server", absl::StrFormat("%-21s not connected", rest)), lines);
  }
  return lines;
}

std::vector<ServerFigures> WithShortAddresses(std::vector<ServerFigures> servers) {
  std::vector<std::string> addresses;
  for (const ServerFigures& server : servers) addresses.push_back(server.address);
  addresses = ShortAddresses(std::move(addresses), kAddressColumns);
  for (size_t i = 0; i < servers.size(); ++i) servers[i].address = addresses[i];
  return servers;
}

Lines LinkLines(const BenchFigures& figures) {
  const std::string carried = absl::StrFormat(
      "%s (%s)", FormatByteRate(figures.link_bytes_per_second), PathName(figures.setup.path));
  if (figures.link_probe_disturbed()) {
    return Labelled("link",
                    absl::StrCat("over ", carried,
                                 "; other programs disturbed the probe, which measured only this"));
  }
  if (figures.link_bytes_per_second <= 0) return {};
  return Labelled("link",
                  absl::StrFormat("%s, without disk and copying; %.0f %% used", carried,
                                  100 * figures.bytes_per_second / figures.link_bytes_per_second));
}

Lines ClientLines(const BenchFigures& figures) {
  Lines lines = Labelled(
      "client", absl::StrFormat("waited for batches %.0f %% of the time; %.1f of %d cores",
                                100 * figures.wait_share, figures.cores_used, figures.cores));
  Append(
      Labelled("", absl::StrFormat(
                       "filling batches %.2f threads (waits for a core included), deciding %.0f %%",
                       figures.copy_share, 100 * figures.deciding_share)),
      lines);
  return lines;
}

Lines MachineLines(const CpuUse& cpu) {
  if (cpu.cores <= 0) return {};
  return Labelled("machine",
                  absl::StrFormat("all programs together used %.1f of %.3g cores%s", cpu.busy_cores,
                                  cpu.cores, cpu.of_group ? ", its group's limit" : ""));
}

}  // namespace

std::vector<std::string> BenchLines(const BenchFigures& figures, const BenchVerdict& verdict) {
  Lines lines =
      Labelled("rate", absl::StrFormat("%s %s/s, %s, over %.1f s",
                                       Grouped(static_cast<uint64_t>(figures.rows_per_second)),
                                       figures.rows_name, FormatByteRate(figures.bytes_per_second),
                                       figures.seconds));
  Append(LinkLines(figures), lines);
  Append(ClientLines(figures), lines);
  Append(MachineLines(figures.cpu), lines);
  const Lines judged = WrapWords(verdict.text, kUsualColumns);
  if (!figures.servers.empty()) {
    lines.push_back(ServerHeading());
    const size_t others = std::min(kLines, lines.size() + judged.size());
    const size_t most = std::clamp(kLines - others, kMinServerLines, kMaxServerLines);
    Append(ServerLines(figures.servers, most), lines);
  }
  Append(judged, lines);
  return lines;
}

std::string ServerHeading() {
  return absl::StrFormat("%47s%5s%7s%5s%5s %s", "engine's threads:", "load", "decode", "send",
                         "idle", "cores used");
}

std::vector<std::string> ServerLines(const std::vector<ServerFigures>& servers, size_t most) {
  std::vector<ServerFigures> shown = WithShortAddresses(servers);
  Lines lines;
  for (const ServerFigures& server : shown) {
    Append(IsAway(server) ? AwayLines(server) : Lines{RateLine(server)}, lines);
  }
  if (lines.size() <= most) return lines;
  std::ranges::stable_sort(shown, {}, &ServerFigures::rows_per_second);
  const auto here = std::stable_partition(shown.begin(), shown.end(), IsAway);
  lines = AwayLines(std::span<const ServerFigures>(shown.begin(), here));
  const std::span<const ServerFigures> rates(here, shown.end());
  const bool all = rates.size() <= most - lines.size();
  const size_t slowest = all ? rates.size() : most - lines.size() - 1;
  for (const ServerFigures& server : rates.first(slowest)) lines.push_back(RateLine(server));
  if (!all) lines.push_back(RateLine(Sum(rates.subspan(slowest))));
  return lines;
}

}  // namespace penstock
