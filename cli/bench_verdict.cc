#include "cli/bench_verdict.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "records/base/byte_size.h"

namespace penstock {
namespace {

std::string Percent(double share) { return absl::StrFormat("%.0f %%", 100 * share); }

// Of the servers that told, weighted alike.
struct Fleet {
  size_t servers = 0;
  EngineShares mean;
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
  }
  const double servers = fleet.servers == 0 ? 1 : static_cast<double>(fleet.servers);
  fleet.mean.load /= servers;
  fleet.mean.build /= servers;
  fleet.mean.decode /= servers;
  fleet.mean.send /= servers;
  return fleet;
}

BenchVerdict JudgeServers(const Fleet& fleet) {
  const EngineShares& mean = fleet.mean;
  const double busy = 1 - mean.idle();
  if (mean.load > busy / 2) {
    return {Limit::kReading,
            absl::StrCat("Reading limits: the servers' threads were busy ", Percent(busy),
                         " of the time, ", Percent(mean.load),
                         " loading chunks. Raise the servers' --memory-budget until the data fits, "
                         "use faster disks, or add servers.")};
  }
  return {Limit::kServers,
          absl::StrCat("The servers' CPU limits: their threads were busy ", Percent(busy),
                       " of the time, ", Percent(mean.decode),
                       " decoding. Add servers or cores, or let more be done here: --dtype packed "
                       "costs them least.")};
}

BenchVerdict JudgeClient(double deciding, double process_busy) {
  return {Limit::kThisClient,
          absl::StrCat("This client limits: the loader was deciding ", Percent(deciding),
                       " of the time, and the process used ", Percent(process_busy),
                       " of its cores. Ask for fewer bytes a row (--dtype), give it more cores, or "
                       "read with more ranks.")};
}

}  // namespace

double EngineShares::idle() const { return 1 - load - build - decode - send; }

const char* LimitName(Limit limit) {
  switch (limit) {
    case Limit::kThisClient:
      return "client";
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

BenchVerdict Judge(const BenchFigures& figures) {
  const double process_busy = figures.cores == 0 ? 0 : figures.cores_used / figures.cores;
  if (figures.local && process_busy >= kBusy) {
    return {Limit::kThisProcess,
            absl::StrCat("This process's CPU limits: it used ", Percent(process_busy),
                         " of its cores. Give it more, or let penstock-servers on other machines "
                         "decode.")};
  }
  if (figures.deciding_share >= kBusy || (!figures.local && process_busy >= kBusy)) {
    return JudgeClient(figures.deciding_share, process_busy);
  }
  const double link = figures.link_bytes_per_second;
  if (!figures.local && link > 0 && figures.bytes_per_second >= kLinkBusy * link) {
    return {Limit::kLink,
            absl::StrCat("The link limits: ", FormatByteRate(figures.bytes_per_second), " of the ",
                         FormatByteRate(link),
                         " that it carries. Ask for fewer bytes a row (--dtype packed "
                         "or i8), or use a faster network.")};
  }
  const Fleet fleet = FleetOf(figures);
  if (fleet.servers > 0 && 1 - fleet.mean.idle() >= kBusy) return JudgeServers(fleet);
  return {Limit::kNothing,
          absl::StrCat("Nothing is used up: the time is spent waiting for answers. Raise "
                       "--look-ahead",
                       figures.local ? "." : ", use servers that are nearer, or more ranks.")};
}

}  // namespace penstock
