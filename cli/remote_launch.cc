#include "cli/remote_launch.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace penstock {
namespace {

std::string Rendezvous(const RemoteLaunch& launch) {
  return absl::StrCat("PENSTOCK_RENDEZVOUS=", launch.hosts.front().name, ":", launch.port);
}

// What programs need to be found, and what is meant for ours; the rest is each host's own.
bool IsPassedOn(const std::string& name) {
  if (name == "PENSTOCK_RENDEZVOUS") return false;  // Set anew.
  return name == "PATH" || name == "LD_LIBRARY_PATH" || name == "PYTHONPATH" ||
         absl::StartsWith(name, "PENSTOCK_");
}

void Append(std::vector<std::string>& line, std::initializer_list<std::string> words) {
  line.insert(line.end(), words);
}

}  // namespace

uint32_t RemoteLaunch::ranks() const {
  uint32_t sum = 0;
  for (const LaunchHost& host : hosts) sum += host.slots;
  return sum;
}

std::vector<std::string> MpirunLine(const RemoteLaunch& launch) {
  std::vector<std::string> line = {"mpirun"};
  if (launch.as_root) Append(line, {"--allow-run-as-root"});
  Append(line, {"-np", absl::StrCat(launch.ranks()), "-H"});
  line.push_back(absl::StrJoin(launch.hosts, ",", [](std::string* out, const LaunchHost& host) {
    absl::StrAppend(out, host.name, ":", host.slots);
  }));
  // Ranks have threads of their own; one core each would starve them.
  Append(line, {"--bind-to", "none", "--tag-output"});
  if (launch.ssh_port != 0) {
    Append(line, {"-mca", "plm_rsh_args", absl::StrCat("-p ", launch.ssh_port)});
  }
  if (!launch.interface.empty()) {
    Append(line, {"-mca", "oob_tcp_if_include", launch.interface, "-mca", "btl_tcp_if_include",
                  launch.interface});
  }
  for (const auto& [name, value] : launch.environment) {
    if (IsPassedOn(name)) Append(line, {"-x", name});
  }
  Append(line, {"-x", Rendezvous(launch)});
  line.insert(line.end(), launch.program.begin(), launch.program.end());
  return line;
}

absl::StatusOr<std::vector<std::string>> SrunLine(const RemoteLaunch& launch) {
  std::vector<std::string> names;
  for (const LaunchHost& host : launch.hosts) {
    if (host.slots != launch.hosts.front().slots) {
      return absl::InvalidArgumentError(absl::StrCat("srun starts as many ranks on each host, but ",
                                                     launch.hosts.front().name, " has ",
                                                     launch.hosts.front().slots, " and ", host.name,
                                                     " ", host.slots, "; use --launcher mpirun"));
    }
    names.push_back(host.name);
  }
  std::vector<std::string> line = {"srun",
                                   absl::StrCat("--ntasks=", launch.ranks()),
                                   absl::StrCat("--nodes=", names.size()),
                                   absl::StrCat("--ntasks-per-node=", launch.hosts.front().slots),
                                   absl::StrCat("--nodelist=", absl::StrJoin(names, ",")),
                                   "--label",
                                   "--kill-on-bad-exit=1",
                                   absl::StrCat("--export=ALL,", Rendezvous(launch))};
  line.insert(line.end(), launch.program.begin(), launch.program.end());
  return line;
}

}  // namespace penstock
