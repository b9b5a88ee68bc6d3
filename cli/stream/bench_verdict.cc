#include "cli/stream/bench_verdict.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/byte_size.h"
#include "records/decode/program.h"

namespace penstock {
namespace {

// A share of the CPUs. If other programs use less, ending them is not worth it.
constexpr double kOthers = 0.1;

std::string Percent(double share) { return absl::StrFormat("%.0f %%", 100 * share); }

// The mean over the servers that reported their work, all with equal weight.
struct Fleet {
  size_t servers = 0;
  EngineShares mean;
  double cpu = 0;  // Share of its cores that a server uses.

  double threads() const { return servers == 0 ? 0 : 1 - mean.idle(); }
};

Fleet FleetOf(const BenchFigures& figures) {
  Fleet fleet;
  for (const ServerFigures& server : figures.servers) {
    if (!server.has_engine) continue;
    ++fleet.servers;
    fleet.mean.load += server.engine.load;
    fleet.mean.build += server.engine.build;
    fleet.mean.decode += server.engine.decode;
    fleet.mean.send += server.engine.send;
    fleet.mean.reads += server.engine.reads;
    if (server.cores > 0) fleet.cpu += server.cores_used / server.cores;
  }
  const double servers = fleet.servers == 0 ? 1 : static_cast<double>(fleet.servers);
  fleet.mean.load /= servers;
  fleet.mean.build /= servers;
  fleet.mean.decode /= servers;
  fleet.mean.send /= servers;
  fleet.mean.reads /= servers;
  fleet.cpu /= servers;
  return fleet;
}

// Returns "Do this, do that, or do those."; leaves out empty ones.
std::string Advice(std::vector<std::string> ways) {
  std::erase(ways, "");
  std::string text = ways[0];
  for (size_t i = 1; i < ways.size(); ++i) {
    const char* comma = ways.size() > 2 ? ", " : " ";
    absl::StrAppend(&text, comma, i + 1 == ways.size() ? "or " : "", ways[i]);
  }
  text[0] = absl::ascii_toupper(text[0]);
  return absl::StrCat(" ", text, ".");
}

std::string FewerBytes(const BenchSetup& setup) {
  std::vector<std::string> dtypes;
  if (setup.packed_is_smaller) dtypes.push_back("packed");
  if (setup.i8_is_smaller) dtypes.push_back("i8");
  if (dtypes.empty()) return "";
  return absl::StrCat("ask for fewer bytes a row (--dtype ", absl::StrJoin(dtypes, " or "), ")");
}

// Advises shared memory, which costs both sides less than gRPC.
std::string UseSharedMemory(const BenchSetup& setup) {
  if (setup.path != Path::kLoopback) return "";
  if (!setup.shared_memory) return "leave out --no-shm";
  if (setup.no_shared_memory_because.empty()) return "start the servers with --shm-socket";
  return absl::StrCat("make shared memory work (now: ", setup.no_shared_memory_because, ")");
}

// The same, unless the servers spend nearly all of their time on work that shared memory does not
// save.
std::string UseSharedMemory(const BenchSetup& setup, const Fleet& fleet) {
  const double busy = std::max(fleet.threads(), fleet.cpu);
  const double saved = busy - fleet.mean.load - fleet.mean.build - fleet.mean.decode;
  return fleet.servers > 0 && saved < kOthers * busy ? "" : UseSharedMemory(setup);
}

std::string MoreConnections(const BenchSetup& setup) {
  if (setup.path == Path::kSharedMemory || setup.connections > 1) return "";
  if (!setup.no_connection_because.empty()) {
    return absl::StrCat("make a further connection possible (now: ", setup.no_connection_because,
                        ")");
  }
  return absl::StrCat("open more connections (--connections ", setup.connections == 1 ? 2 : 4, ")");
}

bool SameMachine(const BenchSetup& setup) {
  return setup.path == Path::kSharedMemory || setup.path == Path::kLoopback;
}

// Returns "Their threads were busy 90 % of the time, 70 % decoding."
std::string WorkOf(const Fleet& fleet) {
  const std::string threads =
      absl::StrCat("Their threads were busy ", Percent(fleet.threads()), " of the time, ",
                   Percent(fleet.mean.decode), " decoding.");
  if (fleet.cpu <= fleet.threads()) return threads;
  return absl::StrCat("They used ", Percent(fleet.cpu), " of their cores. ", threads,
                      " The rest of the CPU went to the network (gRPC, TLS).");
}

BenchVerdict JudgeServers(const BenchSetup& setup, const Fleet& fleet) {
  const EngineShares& mean = fleet.mean;
  if (mean.load > std::max(fleet.threads(), fleet.cpu) / 2) {
    return {Limit::kReading,
            absl::StrCat("Bottleneck: reading. The servers' threads were busy ",
                         Percent(fleet.threads()), " of the time, ", Percent(mean.load),
                         " loading chunks. Raise the servers' --memory-budget until the data fits, "
                         "use faster disks, or add servers.")};
  }
  return {
      Limit::kServers,
      absl::StrCat(
          "Bottleneck: the servers' CPU. ", WorkOf(fleet),
          Advice({SameMachine(setup) ? "add servers on other machines" : "add servers or cores",
                  UseSharedMemory(setup, fleet),
                  setup.packed_is_smaller ? "use --dtype packed, which costs them least" : ""}))};
}

BenchVerdict JudgeStorage(const Fleet& fleet) {
  return {Limit::kReading,
          absl::StrCat("Bottleneck: storage. The servers' threads were idle ",
                       Percent(fleet.mean.idle()), " of the time, while ",
                       absl::StrFormat("%.1f", fleet.mean.reads),
                       " reads of each server were under way.",
                       Advice({"raise the servers' --read-threads if storage can answer more reads "
                               "at a time",
                               "raise --memory-budget until the data fits", "use faster disks",
                               "add servers"}))};
}

BenchVerdict JudgeClient(const BenchFigures& figures, double process_busy) {
  return {Limit::kThisClient,
          absl::StrCat("Bottleneck: this client. The loader was deciding what to request ",
                       Percent(figures.deciding_share), " of the time, and the process used ",
                       Percent(process_busy), " of its cores.",
                       Advice({FewerBytes(figures.setup), UseSharedMemory(figures.setup),
                               "give it more cores", "read with more ranks"}))};
}

// Number of cores of this machine that are busy with anything but this process.
struct MachineShares {
  // Only servers that reported their work and run here; others count as `rest`.
  double servers = 0;
  double rest = 0;
};

MachineShares SharesOf(const BenchFigures& figures) {
  MachineShares shares;
  if (SameMachine(figures.setup)) {
    for (const ServerFigures& server : figures.servers) shares.servers += server.cores_used;
  }
  shares.rest = std::max(0.0, figures.cpu.busy_cores - figures.cores_used - shares.servers);
  return shares;
}

BenchVerdict JudgeMachine(const BenchFigures& figures, const Fleet& fleet) {
  const CpuUse& cpu = figures.cpu;
  const MachineShares shares = SharesOf(figures);
  const bool servers_here = shares.servers > 0;
  const bool others = !servers_here || shares.rest >= kOthers * cpu.cores;
  return {
      Limit::kThisMachine,
      absl::StrCat("Bottleneck: this ", cpu.of_group ? "control group's" : "machine's", " CPU. ",
                   absl::StrFormat("%.1f of %.3g cores were busy: %.1f with this process, ",
                                   cpu.busy_cores, cpu.cores, figures.cores_used),
                   servers_here ? absl::StrFormat("%.1f with the servers, ", shares.servers) : "",
                   absl::StrFormat("%.1f with the rest.", shares.rest),
                   Advice({servers_here ? "run the servers on machines of their own" : "",
                           others ? "run fewer other programs here" : "",
                           cpu.of_group ? "raise the group's limit" : "",
                           UseSharedMemory(figures.setup, fleet), FewerBytes(figures.setup)}))};
}

BenchVerdict JudgeLink(const BenchFigures& figures) {
  const BenchSetup& setup = figures.setup;
  return {Limit::kLink,
          absl::StrCat("Bottleneck: ",
                       setup.path == Path::kSharedMemory ? "shared memory"
                       : setup.path == Path::kLoopback   ? "the loopback connection"
                                                         : "the link",
                       ". It carried ", FormatByteRate(figures.bytes_per_second),
                       ", and its probe ", FormatByteRate(figures.link_bytes_per_second), ".",
                       Advice({FewerBytes(setup), UseSharedMemory(setup), MoreConnections(setup),
                               SameMachine(setup) ? "use servers on other machines"
                                                  : "use a faster network"}))};
}

BenchVerdict JudgeProcess(const BenchFigures& figures, double cores) {
  const bool all = cores >= figures.cores;
  return {
      Limit::kThisProcess,
      absl::StrCat("Bottleneck: this process's CPU. It used ", Percent(figures.cores_used / cores),
                   all ? " of its cores." : " of its --threads.",
                   Advice({all ? "give it more cores" : "raise --threads",
                           "let penstock-servers on other machines decode"}))};
}

// Returns the number of cores that `local:` may use.
double CoresOf(const BenchFigures& figures) {
  if (figures.setup.threads == 0) return figures.cores;
  return std::min(figures.setup.threads, figures.cores);
}

}  // namespace

bool BenchFigures::link_probe_disturbed() const {
  return link_bytes_per_second > 0 && bytes_per_second > kMostOfLink * link_bytes_per_second;
}

bool RowsAreSmaller(const v1::DecodeSpec& spec, WireDtype dtype, WireDtype than) {
  const absl::StatusOr<Program> one = Program::Compile(spec, dtype),
                                other = Program::Compile(spec, than);
  return one.ok() && other.ok() && one->row_bytes() < other->row_bytes();
}

double EngineShares::idle() const { return 1 - load - build - decode - send; }

const char* LimitName(Limit limit) {
  switch (limit) {
    case Limit::kThisClient:
      return "client";
    case Limit::kThisMachine:
      return "machine";
    case Limit::kLink:
      return "link";
    case Limit::kReading:
      return "reading";
    case Limit::kServers:
      return "servers";
    case Limit::kThisProcess:
      return "process";
    case Limit::kNothing:
      return "nothing";
  }
  return "";
}

const char* PathName(Path path) {
  switch (path) {
    case Path::kLocal:
      return "local";
    case Path::kSharedMemory:
      return "shared memory";
    case Path::kLoopback:
      return "loopback";
    case Path::kNetwork:
      return "network";
  }
  return "";
}

BenchVerdict Judge(const BenchFigures& figures) {
  const BenchSetup& setup = figures.setup;
  const bool local = setup.path == Path::kLocal;
  if (local && figures.cores > 0 && figures.cores_used >= kBusy * CoresOf(figures)) {
    return JudgeProcess(figures, CoresOf(figures));
  }
  const double process_busy = figures.cores == 0 ? 0 : figures.cores_used / figures.cores;
  if (figures.deciding_share >= kBusy || (!local && process_busy >= kBusy)) {
    return JudgeClient(figures, process_busy);
  }
  const bool machine_busy = figures.cpu.share() >= kBusy;
  const Fleet fleet = FleetOf(figures);
  if (machine_busy && SameMachine(setup)) return JudgeMachine(figures, fleet);
  if (fleet.cpu >= kBusy) return JudgeServers(setup, fleet);
  const double link = figures.link_bytes_per_second;
  const bool disturbed = figures.link_probe_disturbed();
  if (!local && !disturbed && link > 0 && figures.bytes_per_second >= kLinkBusy * link) {
    return JudgeLink(figures);
  }
  if (machine_busy) return JudgeMachine(figures, fleet);
  if (fleet.threads() >= kBusy) return JudgeServers(setup, fleet);
  if (fleet.mean.reads >= kReading) return JudgeStorage(fleet);
  if (!local && disturbed) {
    return {Limit::kNothing,
            "Bottleneck unknown: the link carried more than its probe did, so something else used "
            "this machine or the link during the probe. Measure again for longer (--seconds)."};
  }
  return {Limit::kNothing,
          absl::StrCat("No bottleneck found: the time is spent waiting for answers.",
                       Advice({"raise --look-ahead",
                               setup.path == Path::kNetwork ? "use servers that are nearer" : "",
                               local ? "" : "read with more ranks"}))};
}

}  // namespace penstock
