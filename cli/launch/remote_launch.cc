#include "cli/launch/remote_launch.h"

#include <array>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace penstock {
namespace {

// Returns variables with the address at which rank 0 listens, for our programs and for those that
// know torchrun's variables. -x may override the latter.
std::vector<std::string> Rendezvous(const RemoteLaunch& launch) {
  const std::string& host = launch.hosts.front().name;
  std::vector<std::string> variables = {
      absl::StrCat("PENSTOCK_RENDEZVOUS=", host, ":", launch.port)};
  if (!launch.passed_on.contains("MASTER_ADDR")) {
    variables.push_back(absl::StrCat("MASTER_ADDR=", host));
  }
  if (!launch.passed_on.contains("MASTER_PORT")) {
    variables.push_back(absl::StrCat("MASTER_PORT=", launch.port));
  }
  return variables;
}

// Whether it is one of our programs, which know the launchers' own variables.
bool IsOurs(const std::string& program) {
  return absl::StartsWith(program.substr(program.rfind('/') + 1), "penstock-");
}

// Returns the command line of the program. A program that is not ours runs behind a shell, which
// sets torchrun's variables to the launcher's rank, world size, local rank and local size.
std::vector<std::string> WithTorchVariables(const std::vector<std::string>& program,
                                            const std::array<std::string, 4>& values) {
  if (program.empty() || IsOurs(program.front())) return program;
  std::vector<std::string> line = {
      "sh", "-c",
      absl::StrCat("export RANK=", values[0], " WORLD_SIZE=", values[1], " LOCAL_RANK=", values[2],
                   " LOCAL_WORLD_SIZE=", values[3], "; exec \"$@\""),
      "sh"};
  line.insert(line.end(), program.begin(), program.end());
  return line;
}

// Whether a variable is passed on: those by which programs are found, and those of our programs.
// All other variables stay as they are on each host.
bool IsPassedOn(const std::string& name) {
  if (name == "PENSTOCK_RENDEZVOUS") return false;  // Each launch sets its own.
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
  // Ranks have several threads, for which one core is too little.
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
  for (const std::string& variable : Rendezvous(launch)) Append(line, {"-x", variable});
  line.insert(line.end(), launch.mpirun.begin(), launch.mpirun.end());
  const std::vector<std::string> program = WithTorchVariables(
      launch.program, {"$OMPI_COMM_WORLD_RANK", "$OMPI_COMM_WORLD_SIZE",
                       "$OMPI_COMM_WORLD_LOCAL_RANK", "$OMPI_COMM_WORLD_LOCAL_SIZE"});
  line.insert(line.end(), program.begin(), program.end());
  return line;
}

absl::StatusOr<std::vector<std::string>> SrunLine(const RemoteLaunch& launch) {
  std::vector<std::string> names;
  for (const LaunchHost& host : launch.hosts) {
    if (host.slots != launch.hosts.front().slots) {
      return absl::InvalidArgumentError(
          absl::StrCat("srun needs the same number of ranks on each host, but ",
                       launch.hosts.front().name, " has ", launch.hosts.front().slots, " and ",
                       host.name, " ", host.slots, "; use --launcher mpirun"));
    }
    names.push_back(host.name);
  }
  std::vector<std::string> line = {
      "srun",
      absl::StrCat("--ntasks=", launch.ranks()),
      absl::StrCat("--nodes=", names.size()),
      absl::StrCat("--ntasks-per-node=", launch.hosts.front().slots),
      absl::StrCat("--nodelist=", absl::StrJoin(names, ",")),
      "--label",
      "--kill-on-bad-exit=1",
      absl::StrCat("--export=ALL,", absl::StrJoin(Rendezvous(launch), ","))};
  const std::vector<std::string> program = WithTorchVariables(
      launch.program, {"$SLURM_PROCID", absl::StrCat(launch.ranks()), "$SLURM_LOCALID",
                       absl::StrCat(launch.hosts.front().slots)});
  line.insert(line.end(), program.begin(), program.end());
  return line;
}

}  // namespace penstock
