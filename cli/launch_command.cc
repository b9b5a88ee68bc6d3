// penstock launch: a program as several ranks, here or on several hosts.
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/launch_end.h"
#include "cli/launch_line.h"
#include "cli/rank_processes.h"
#include "cli/remote_launch.h"
#include "penstock_version.h"
#include "records/base/status.h"

namespace penstock {
namespace {

struct LaunchFlags {
  uint32_t ranks = 0;
  std::string hosts;
  std::string hostfile;
  std::string gpus;
  uint32_t restarts = 0;
  std::string launcher = "auto";
  uint16_t port = 0;
  uint16_t ssh_port = 0;
  std::string interface;
  bool check_build = false;
  bool verbose = false;
  bool gloo = false;
  bool mpi = false;
  std::vector<std::string> program;
};

std::string OwnFolder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

// The path of a program that execvp() would run; empty: none.
std::string FindProgram(const std::string& name, const std::string& path) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  for (const absl::string_view folder : absl::StrSplit(path, ':')) {
    const std::string candidate = absl::StrCat(folder, "/", name);
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

// penstock-train is found beside this program, in PATH or not.
std::string SearchPath(const Environment& environment) {
  const auto it = environment.find("PATH");
  return absl::StrCat(it == environment.end() ? "/usr/bin:/bin" : it->second, ":", OwnFolder());
}

// One that nothing listens at now.
absl::StatusOr<uint16_t> FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return ErrnoToStatus(errno, "socket");
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  socklen_t size = sizeof(address);
  const bool bound = bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  const int error = errno;
  close(fd);
  if (!bound) return ErrnoToStatus(error, "looking for a free port");
  return ntohs(address.sin_port);
}

absl::StatusOr<std::vector<LaunchHost>> Hosts(const LaunchFlags& flags) {
  if (!flags.hosts.empty() && !flags.hostfile.empty()) {
    return UsageError("-H and --hostfile exclude each other");
  }
  if (flags.hosts.empty() && flags.hostfile.empty()) {
    if (flags.ranks == 0) return UsageError("-np is required: how many ranks");
    return std::vector<LaunchHost>{{"localhost", flags.ranks}};
  }
  absl::StatusOr<std::vector<LaunchHost>> hosts;
  if (flags.hostfile.empty()) {
    hosts = ParseHosts(flags.hosts);
    if (!hosts.ok()) return UsageError(absl::StrCat("-H: ", hosts.status().message()));
  } else {
    std::ifstream file(flags.hostfile);
    if (!file) return ErrnoToStatus(errno, absl::StrCat("--hostfile ", flags.hostfile));
    hosts = ParseHostfile(std::string(std::istreambuf_iterator<char>(file), {}));
    if (!hosts.ok()) return Annotate(hosts.status(), absl::StrCat("--hostfile ", flags.hostfile));
  }
  absl::StatusOr<std::vector<LaunchHost>> placed = PlaceRanks(*std::move(hosts), flags.ranks);
  if (!placed.ok()) return UsageError(placed.status().message());
  for (const LaunchHost& host : *placed) {
    if (placed->size() == 1 || (host.name != "localhost" && host.name != "127.0.0.1")) continue;
    return UsageError(absl::StrCat(host.name, " among several hosts is another one on each of ",
                                   "them; name it so that the others find it"));
  }
  return placed;
}

std::string OwnHost() {
  char own[256] = {};
  gethostname(own, sizeof(own) - 1);
  return own;
}

bool IsThisHost(const std::string& name) {
  return name == "localhost" || name == "127.0.0.1" || name == OwnHost();
}

// "local", "mpirun" or "srun".
absl::StatusOr<std::string> ChooseLauncher(const LaunchFlags& flags,
                                           const std::vector<LaunchHost>& hosts,
                                           const Environment& environment) {
  const bool is_local = hosts.size() == 1 && IsThisHost(hosts[0].name);
  if (flags.launcher == "local" && !is_local) {
    return UsageError("--launcher local starts ranks on this host alone, not on those of -H");
  }
  if (flags.launcher != "auto") return flags.launcher;
  if (flags.mpi) return "mpirun";
  if (is_local) return "local";
  const std::string path = SearchPath(environment);
  if (environment.contains("SLURM_JOB_ID") && !FindProgram("srun", path).empty()) return "srun";
  if (!FindProgram("mpirun", path).empty()) return "mpirun";
  return absl::FailedPreconditionError(
      "several hosts need mpirun (Debian: openmpi-bin), or srun inside an allocation; neither is "
      "here");
}

absl::StatusOr<std::vector<std::string>> Gpus(const LaunchFlags& flags, size_t ranks) {
  if (flags.gpus.empty()) return std::vector<std::string>();
  std::vector<std::string> gpus = absl::StrSplit(flags.gpus, ',');
  if (gpus.size() < ranks) {
    return UsageError(absl::StrCat("--gpus ", flags.gpus, " names ", gpus.size(), " for ", ranks,
                                   " ranks on a host; name one for each, the same twice if two "
                                   "shall share it"));
  }
  return gpus;
}

// What ranks get from whoever starts them. Those of an earlier start are told from those of this
// one: mpirun and srun have no name for that.
Environment CommonEnvironment(const LaunchFlags& flags, uint32_t generation) {
  Environment environment = ProcessEnvironment();
  environment["PATH"] = SearchPath(environment);
  environment["PENSTOCK_JOB"] = absl::StrCat("penstock-launch-", OwnHost(), "-", getpid());
  environment["PENSTOCK_GENERATION"] = absl::StrCat(generation);
  if (!flags.interface.empty()) environment["PENSTOCK_INTERFACE"] = flags.interface;
  return environment;
}

// As torchrun would, so that programs that know torchrun run under it too.
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
  // Nobody else can take this name, as they could the port.
  common["PENSTOCK_RENDEZVOUS"] =
      absl::StrCat("unix-abstract:penstock-launch-", getpid(), "-", generation);
  std::vector<Environment> environments(ranks, common);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    environments[rank]["RANK"] = environments[rank]["LOCAL_RANK"] = absl::StrCat(rank);
    if (!gpus.empty()) environments[rank]["CUDA_VISIBLE_DEVICES"] = gpus[rank];
  }
  return environments;
}

void PrintRankLine(size_t rank, bool is_error, absl::string_view line) {
  absl::FPrintF(is_error ? stderr : stdout, "[%d] %s\n", rank, line);
  std::fflush(is_error ? stderr : stdout);
}

void PrintLine(size_t, bool is_error, absl::string_view line) {
  absl::FPrintF(is_error ? stderr : stdout, "%s\n", line);
  std::fflush(is_error ? stderr : stdout);
}

absl::StatusOr<RanksEnd> RunLocal(const LaunchFlags& flags, uint32_t ranks, uint32_t generation) {
  PENSTOCK_ASSIGN_OR_RETURN(std::vector<Environment> environments,
                            LocalEnvironments(flags, ranks, generation));
  return RankProcesses(flags.program, std::move(environments), PrintRankLine).Run();
}

absl::StatusOr<std::vector<std::string>> RemoteLine(const LaunchFlags& flags,
                                                    const std::string& launcher,
                                                    std::vector<LaunchHost> hosts,
                                                    const Environment& environment) {
  RemoteLaunch launch{.hosts = std::move(hosts),
                      .port = flags.port,
                      .ssh_port = flags.ssh_port,
                      .interface = flags.interface,
                      .as_root = geteuid() == 0,
                      .environment = environment,
                      .program = flags.program};
  if (launch.port == 0) {
    PENSTOCK_ASSIGN_OR_RETURN(launch.port, FreePort());
  }
  if (launcher == "mpirun") return MpirunLine(launch);
  absl::StatusOr<std::vector<std::string>> line = SrunLine(launch);
  if (!line.ok()) return UsageError(line.status().message());
  return line;
}

// mpirun and srun mark the lines, pass signals on and end all when one rank fails.
absl::StatusOr<RanksEnd> RunRemote(const LaunchFlags& flags, const std::string& launcher,
                                   const std::vector<LaunchHost>& hosts, uint32_t generation) {
  if (!flags.gpus.empty()) {
    return UsageError(
        "--gpus is for the ranks of this host; several hosts take a GPU by local rank");
  }
  const Environment environment = CommonEnvironment(flags, generation);
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::string> line,
                            RemoteLine(flags, launcher, hosts, environment));
  if (flags.verbose) absl::FPrintF(stderr, "%s\n", absl::StrJoin(line, " "));
  RankProcesses processes(line, {environment}, PrintLine);
  // Of SIGTERM both kill their ranks, mpirun a second later; SIGUSR1 they pass on.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) processes.PassOn(signal, SIGUSR1);
  return processes.Run();
}

absl::Status RunToItsEnd(std::vector<std::string> line) {
  std::vector<char*> argv;
  for (std::string& argument : line) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawn(&child, argv[0], nullptr, nullptr, argv.data(), environ);
  if (error != 0) return ErrnoToStatus(error, absl::StrJoin(line, " "));
  int ended = 0;
  while (waitpid(child, &ended, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(ended) && WEXITSTATUS(ended) == 0) return absl::OkStatus();
  return absl::UnknownError(absl::StrCat(absl::StrJoin(line, " "), " failed"));
}

// What penstock-train can do, it says itself.
absl::Status PrintBuild() {
  const std::string path = SearchPath(ProcessEnvironment());
  auto mark = [](const char* program, const std::string& found) {
    return found.empty() ? absl::StrCat("[ ] ", program)
                         : absl::StrCat("[X] ", program, ": ", found);
  };
  const std::string trainer = FindProgram("penstock-train", path);
  absl::PrintF("penstock %s (commit %s)\n\nLaunchers:\n    [X] local\n    %s\n    %s\n\n",
               PENSTOCK_VERSION, PENSTOCK_COMMIT, mark("mpirun", FindProgram("mpirun", path)),
               mark("srun", FindProgram("srun", path)));
  absl::PrintF("Programs:\n    %s\n\n", mark("penstock-train", trainer));
  std::fflush(stdout);
  return trainer.empty() ? absl::OkStatus() : RunToItsEnd({trainer, "devices"});
}

absl::Status Launch(const LaunchFlags& flags) {
  if (flags.check_build) return PrintBuild();
  if (flags.program.empty()) {
    return UsageError("which program? penstock launch -np 2 -- penstock-train ...");
  }
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<LaunchHost> hosts, Hosts(flags));
  PENSTOCK_ASSIGN_OR_RETURN(const std::string launcher,
                            ChooseLauncher(flags, hosts, ProcessEnvironment()));
  for (uint32_t attempt = 0;; ++attempt) {
    const bool local = launcher == "local";
    PENSTOCK_ASSIGN_OR_RETURN(const RanksEnd end, local
                                                      ? RunLocal(flags, hosts[0].slots, attempt)
                                                      : RunRemote(flags, launcher, hosts, attempt));
    const absl::Status status = ToStatus(end, launcher);
    // Neither a wrong command line nor a wish to stop gets better by trying again.
    if (status.ok() || end.signal != 0 || attempt >= flags.restarts || ExitCode(status) == 2) {
      return status;
    }
    absl::FPrintF(stderr, "penstock launch: %s\npenstock launch: starting again, %d of %d\n",
                  status.message(), attempt + 1, flags.restarts);
  }
}

}  // namespace

void AddLaunchCommand(CLI::App& app, absl::Status& outcome, std::vector<std::string> program) {
  CLI::App& command = AddCommand(
      app, "launch",
      "Start a program as several ranks of one training: on this host by itself, on several by\n"
      "mpirun or srun. The first rank that fails ends all; signals are passed on. Takes the "
      "common\n"
      "options of horovodrun, perseusrun and mpirun (-np, -hostfile, -cb; -- may be left out).",
      "penstock launch -np 4 -- penstock-train --manifest data/manifest.pb --servers a:7070\n"
      "penstock launch -np 4 -H node1:2,node2:2 -- penstock-train --manifest data/manifest.pb\n"
      "penstock launch --check-build");
  auto flags = std::make_shared<LaunchFlags>();
  flags->program = std::move(program);
  command.add_option("--np,--num-proc", flags->ranks, "Ranks (-np); 0: every slot of the hosts");
  command.add_option("-H,--hosts", flags->hosts, "HOST:SLOTS,HOST:SLOTS; empty: this host");
  command.add_option("--hostfile", flags->hostfile, "File of hosts: \"name slots=2\" a line");
  command.add_option("--gpus", flags->gpus, "GPU of each rank of this host, as 0,1,2,3");
  command.add_option("--restarts", flags->restarts, "Times to start all again when one failed");
  command.add_option("--launcher", flags->launcher, "Who starts the ranks")
      ->check(CLI::IsMember({"auto", "local", "mpirun", "srun"}));
  command.add_option("--port", flags->port, "Where rank 0 listens; 0: one that is free here");
  command.add_option("-p,--ssh-port", flags->ssh_port, "Of the other hosts, for mpirun; 0: usual");
  command.add_option("--network-interface,--network-interfaces", flags->interface,
                     "Network between the ranks, and of mpirun's own messages");
  command.add_flag("--check-build", flags->check_build, "Print what this build starts and finds");
  command.add_flag("--verbose", flags->verbose, "Print the line that mpirun or srun is started by");
  command.add_flag("--gloo", flags->gloo, "For horovodrun's lines: ranks on CPUs always use Gloo");
  command.add_flag("--mpi", flags->mpi, "As --launcher mpirun");
  OnRun(command, outcome, [flags] { return Launch(*flags); });
}

}  // namespace penstock
