#include "cli/launch/run_ranks.h"

#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/io/local_port.h"
#include "base/io/unique_fd.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/launch/find_program.h"
#include "cli/launch/remote_launch.h"

namespace penstock {
namespace {

// Returns a port at which nothing listens now.
absl::StatusOr<uint16_t> FreePort() {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return ErrnoToStatus(errno, "socket");
  sockaddr_in any = {};
  any.sin_family = AF_INET;
  if (bind(socket.get(), reinterpret_cast<sockaddr*>(&any), sizeof any) != 0) {
    return ErrnoToStatus(errno, "no free port found");
  }
  return LocalPort(socket.get());
}

absl::StatusOr<std::vector<std::string>> Gpus(const LaunchFlags& flags, size_t ranks) {
  if (flags.gpus.empty()) return std::vector<std::string>();
  std::vector<std::string> gpus = absl::StrSplit(flags.gpus, ',');
  if (absl::c_linear_search(gpus, "")) {
    return UsageError(absl::StrCat("--gpus ", flags.gpus, ": a name is empty; give e.g. 0,1"));
  }
  if (gpus.size() < ranks) {
    return UsageError(absl::StrCat(
        "--gpus ", flags.gpus, " names ", Counted(gpus.size(), "GPU", "GPUs"), " for ", ranks,
        " ranks on a host; name one for each rank, or repeat a name to share a GPU"));
  }
  return gpus;
}

// Checks the GPUs that each host gets. A rank takes the GPU of its local rank, and CUDA refuses a
// GPU that is named twice.
absl::Status CheckGpusOfHosts(const LaunchFlags& flags, const std::vector<LaunchHost>& hosts) {
  uint32_t ranks = 0;
  for (const LaunchHost& host : hosts) ranks = std::max(ranks, host.slots);
  // No GPU is named, or one for all ranks.
  if (!absl::StrContains(flags.gpus, ',')) return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::string> gpus, Gpus(flags, ranks));
  const std::set<std::string> distinct(gpus.begin(), gpus.end());
  if (distinct.size() == gpus.size()) return absl::OkStatus();
  return UsageError(absl::StrCat("--gpus ", flags.gpus,
                                 " names a GPU twice, which mpirun and srun do not support; ",
                                 "if all ranks of a host share one GPU, give --gpus ", gpus[0]));
}

// Sets the variables that torchrun sets, so that programs written for torchrun run too.
absl::StatusOr<std::vector<Environment>> LocalEnvironments(const LaunchFlags& flags, uint32_t ranks,
                                                           uint32_t generation) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::string> gpus, Gpus(flags, ranks));
  uint16_t port = flags.port;
  if (port == 0) {
    PENSTOCK_ASSIGN_OR_RETURN(port, FreePort());
  }
  Environment common = CommonEnvironment(flags, generation);
  common["WORLD_SIZE"] = common["LOCAL_WORLD_SIZE"] = absl::StrCat(ranks);
  common["MASTER_ADDR"] = "127.0.0.1";
  common["MASTER_PORT"] = absl::StrCat(port);
  common["TORCHELASTIC_RUN_ID"] = absl::StrCat("penstock-launch-", getpid());
  common["TORCHELASTIC_RESTART_COUNT"] = absl::StrCat(generation);
  // Nobody else can take this name, but somebody could take the port.
  common["PENSTOCK_RENDEZVOUS"] =
      absl::StrCat("unix-abstract:penstock-launch-", getpid(), "-", generation);
  std::vector<Environment> environments(ranks, common);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    environments[rank]["RANK"] = environments[rank]["LOCAL_RANK"] = absl::StrCat(rank);
    if (!gpus.empty()) environments[rank]["CUDA_VISIBLE_DEVICES"] = gpus[rank];
  }
  return environments;
}

// The destinations of the ranks' output.
struct Outputs {
  LineOutput out{STDOUT_FILENO};
  LineOutput err{STDERR_FILENO};
};

// Prints lines. Marks them with their rank if the launcher is "local"; other launchers have already
// done so.
RankProcesses::Sink Print(const LaunchFlags& flags, absl::string_view launcher, RankFiles& files,
                          Outputs& outputs) {
  return [&flags, local = launcher == "local", &files, &outputs](size_t rank, bool is_error,
                                                                 absl::string_view line) {
    std::string mark = local ? absl::StrCat("[", rank, "] ") : "";
    if (flags.timestamps) {
      mark.insert(0, absl::FormatTime("%Y-%m-%d %H:%M:%S ", absl::Now(), absl::LocalTimeZone()));
    }
    (is_error ? outputs.err : outputs.out).Add(absl::StrCat(mark, line));
    files.Write(rank, is_error, line);
  };
}

absl::StatusOr<RanksEnd> RunAndPrint(RankProcesses& processes, Outputs& outputs) {
  std::fflush(stdout);
  processes.WriteTo(outputs.out);
  processes.WriteTo(outputs.err);
  absl::StatusOr<RanksEnd> end = processes.Run();
  for (const LineOutput* output : {&outputs.out, &outputs.err}) {
    const bool ended_well = end.ok() && !end->failure.has_value() && end->signal == 0;
    if (ended_well && output->error() != 0) {
      return ErrnoToStatus(output->error(), "the output of the ranks cannot be written");
    }
  }
  return end;
}

std::string NamesOf(const std::vector<LaunchHost>& hosts) {
  constexpr size_t kMostNames = 4;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(hosts.size(), kMostNames); ++i) names.push_back(hosts[i].name);
  if (hosts.size() > kMostNames) names.push_back(absl::StrCat(hosts.size() - kMostNames, " more"));
  return absl::StrJoin(names, ", ");
}

absl::StatusOr<std::vector<std::string>> RemoteLine(const LaunchFlags& flags,
                                                    const std::string& launcher,
                                                    std::vector<LaunchHost> hosts,
                                                    const Environment& environment) {
  RemoteLaunch launch{.hosts = std::move(hosts),
                      .port = flags.port,
                      .ssh_port = flags.ssh_port,
                      .ssh_key = flags.ssh_key,
                      .interface = flags.interface,
                      .as_root = geteuid() == 0,
                      .environment = environment,
                      .passed_on = NamesPassedOn(flags),
                      .output_folder = flags.output_folder,
                      .mpirun = flags.line.mpirun,
                      .program = flags.line.program};
  if (!flags.gpus.empty()) launch.passed_on.insert("CUDA_VISIBLE_DEVICES");
  if (launch.port == 0) {
    PENSTOCK_ASSIGN_OR_RETURN(launch.port, FreePort());
  }
  if (launcher == "mpirun") return MpirunLine(launch);
  absl::StatusOr<std::vector<std::string>> line = SrunLine(launch);
  if (!line.ok()) return UsageError(line.status().message());
  return line;
}

}  // namespace

std::string OwnHost() {
  char own[256] = {};
  gethostname(own, sizeof(own) - 1);
  return own;
}

Environment CommonEnvironment(const LaunchFlags& flags, uint32_t generation) {
  Environment environment = ProcessEnvironment();
  environment["PATH"] = SearchPath(environment);
  environment["PENSTOCK_JOB"] = absl::StrCat("penstock-launch-", OwnHost(), "-", getpid());
  environment["PENSTOCK_GENERATION"] = absl::StrCat(generation);
  if (!flags.interface.empty()) environment["PENSTOCK_INTERFACE"] = flags.interface;
  if (flags.start_timeout_s != 0) {
    environment["PENSTOCK_RENDEZVOUS_TIMEOUT"] = absl::StrCat(flags.start_timeout_s, "s");
  }
  for (const std::string& variable : flags.variables) {
    const size_t equals = variable.find('=');
    if (equals == std::string::npos) continue;
    environment[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  return environment;
}

std::set<std::string> NamesPassedOn(const LaunchFlags& flags) {
  std::set<std::string> names;
  for (const std::string& variable : flags.variables) {
    names.insert(variable.substr(0, variable.find('=')));
  }
  return names;
}

absl::StatusOr<RanksEnd> RunLocal(const LaunchFlags& flags, uint32_t ranks, uint32_t generation,
                                  RankFiles& files) {
  PENSTOCK_ASSIGN_OR_RETURN(std::vector<Environment> environments,
                            LocalEnvironments(flags, ranks, generation));
  Outputs outputs;
  RankProcesses processes(flags.line.program, std::move(environments),
                          Print(flags, "local", files, outputs));
  return RunAndPrint(processes, outputs);
}

absl::StatusOr<RanksEnd> RunRemote(const LaunchFlags& flags, const std::string& launcher,
                                   const std::vector<LaunchHost>& hosts, uint32_t generation,
                                   RankFiles& files) {
  PENSTOCK_RETURN_IF_ERROR(CheckGpusOfHosts(flags, hosts));
  Environment environment = CommonEnvironment(flags, generation);
  if (!flags.gpus.empty()) environment["CUDA_VISIBLE_DEVICES"] = flags.gpus;
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::string> line,
                            RemoteLine(flags, launcher, hosts, environment));
  if (flags.verbose) PrintEscaped(stderr, "%s\n", absl::StrJoin(line, " "));
  Outputs outputs;
  RankProcesses processes(line, {environment}, Print(flags, launcher, files, outputs));
  // On SIGTERM both launchers kill their ranks, mpirun a second later. They pass SIGUSR1 on.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) processes.PassOn(signal, SIGUSR1);
  constexpr std::chrono::seconds kQuiet(5);
  processes.TellIfQuiet(kQuiet, [&] {
    PrintEscaped(
        stderr, "penstock launch: no rank has printed anything for %d s; %s starts them on %s%s\n",
        kQuiet.count(), launcher, NamesOf(hosts),
        launcher == "mpirun"
            ? absl::StrCat(" by ssh. If that takes long, try: ssh ", hosts.back().name, " true")
            : ". If that takes long, try: squeue --steps");
  });
  return RunAndPrint(processes, outputs);
}

}  // namespace penstock
