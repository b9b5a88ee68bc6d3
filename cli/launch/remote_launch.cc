#include "cli/launch/remote_launch.h"

#include "absl/algorithm/container.h"
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

std::string SshOptions(const RemoteLaunch& launch) {
  std::vector<std::string> options;
  if (launch.ssh_port != 0) options.push_back(absl::StrCat("-p ", launch.ssh_port));
  if (!launch.ssh_key.empty()) options.push_back(absl::StrCat("-i ", launch.ssh_key));
  return absl::StrJoin(options, " ");
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
  Append(line, {"--tag-output"});
  // Ranks have threads of their own; one core each would starve them.
  if (!absl::c_linear_search(launch.mpirun, "--bind-to")) Append(line, {"--bind-to", "none"});
  if (const std::string ssh = SshOptions(launch); !ssh.empty()) {
    Append(line, {"-mca", "plm_rsh_args", ssh});
  }
  if (!launch.output_folder.empty()) Append(line, {"--output-filename", launch.output_folder});
  if (!launch.interface.empty()) {
    Append(line, {"-mca", "oob_tcp_if_include", launch.interface, "-mca", "btl_tcp_if_include",
                  launch.interface});
  }
  for (const auto& [name, value] : launch.environment) {
    if (IsPassedOn(name) || launch.passed_on.contains(name)) Append(line, {"-x", name});
  }
  Append(line, {"-x", Rendezvous(launch)});
  line.insert(line.end(), launch.mpirun.begin(), launch.mpirun.end());
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
