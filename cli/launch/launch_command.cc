// penstock launch: a program as several ranks, here or on several hosts.
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/io/input_file.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/launch/find_program.h"
#include "cli/launch/launch_end.h"
#include "cli/launch/launch_line.h"
#include "cli/launch/rank_files.h"
#include "cli/launch/rank_processes.h"
#include "cli/launch/remote_launch.h"
#include "penstock_version.h"

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
  uint32_t start_timeout_s = 0;
  std::vector<std::string> variables;  // NAME or NAME=VALUE.
  std::string output_folder;
  bool timestamps = false;
  std::string ssh_key;
  LaunchLine line;
};

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
    constexpr uint64_t kMostBytes = 1 << 20;
    const absl::StatusOr<std::string> text = ReadInput(flags.hostfile, kMostBytes);
    if (!text.ok()) return Annotate(text.status(), "--hostfile");
    hosts = ParseHostfile(*text);
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
  if (absl::c_linear_search(gpus, "")) {
    return UsageError(absl::StrCat("--gpus ", flags.gpus, ": a name is empty; give e.g. 0,1"));
  }
  if (gpus.size() < ranks) {
    return UsageError(absl::StrCat("--gpus ", flags.gpus, " names ", gpus.size(), " for ", ranks,
                                   " ranks on a host; name one for each, the same twice if two "
                                   "shall share it"));
  }
  return gpus;
}

// Of every host, each of whose ranks takes the one of its local rank; CUDA wants none twice.
absl::Status CheckGpusOfHosts(const LaunchFlags& flags, const std::vector<LaunchHost>& hosts) {
  uint32_t ranks = 0;
  for (const LaunchHost& host : hosts) ranks = std::max(ranks, host.slots);
  if (!absl::StrContains(flags.gpus, ',')) return absl::OkStatus();  // None, or one for all.
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::string> gpus, Gpus(flags, ranks));
  const std::set<std::string> distinct(gpus.begin(), gpus.end());
  if (distinct.size() == gpus.size()) return absl::OkStatus();
  return UsageError(absl::StrCat("--gpus ", flags.gpus, " names a GPU twice: with mpirun and srun ",
                                 "ranks share one where it is the only one, --gpus ", gpus[0]));
}

// What ranks get from whoever starts them. Those of an earlier start are told from those of this
// one: mpirun and srun have no name for that.
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

std::set<std::string> NamesPassedOn(const LaunchFlags& flags) {
  std::set<std::string> names;
  for (const std::string& variable : flags.variables) {
    names.insert(variable.substr(0, variable.find('=')));
  }
  return names;
}

// What ranks print.
struct Outputs {
  LineOutput out{STDOUT_FILENO};
  LineOutput err{STDERR_FILENO};
};

// Prints lines; of "local" ones with their rank, which others have put there.
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
      return ErrnoToStatus(output->error(), "what the ranks print cannot be written");
    }
  }
  return end;
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

// mpirun and srun mark the lines, pass signals on and end all when one rank fails.
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
  // Of SIGTERM both kill their ranks, mpirun a second later; SIGUSR1 they pass on.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) processes.PassOn(signal, SIGUSR1);
  return RunAndPrint(processes, outputs);
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
  PrintEscaped(stdout, "penstock %s (commit %s)\n\nLaunchers:\n    [X] local\n    %s\n    %s\n\n",
               PENSTOCK_VERSION, PENSTOCK_COMMIT, mark("mpirun", FindProgram("mpirun", path)),
               mark("srun", FindProgram("srun", path)));
  PrintEscaped(stdout, "Programs:\n    %s\n\n", mark("penstock-train", trainer));
  std::fflush(stdout);
  return trainer.empty() ? absl::OkStatus() : RunToItsEnd({trainer, "devices"});
}

void TellNotes(const LaunchFlags& flags, absl::string_view launcher) {
  std::vector<std::string> notes = flags.line.notes;
  if (launcher != "mpirun" && !flags.line.mpirun.empty()) {
    notes.push_back(absl::StrCat(absl::StrJoin(flags.line.mpirun, " "),
                                 ": taken, has no effect here: mpirun does not start these ranks (",
                                 "--mpi has it start them)"));
  }
  if (launcher == "srun" && !flags.output_folder.empty()) {
    notes.push_back("--output-filename: taken, has no effect by srun: use sbatch --output");
  }
  const Environment environment = CommonEnvironment(flags, 0);
  for (const std::string& name : NamesPassedOn(flags)) {
    if (!environment.contains(name)) {
      notes.push_back(absl::StrCat("-x ", name, ": no such variable is set here"));
    }
  }
  for (const std::string& note : notes) PrintEscaped(stderr, "penstock launch: %s\n", note);
}

absl::Status RunWithRestarts(const LaunchFlags& flags, const std::string& launcher,
                             const std::vector<LaunchHost>& hosts, RankFiles& files) {
  for (uint32_t attempt = 0;; ++attempt) {
    PENSTOCK_ASSIGN_OR_RETURN(const RanksEnd end,
                              launcher == "local"
                                  ? RunLocal(flags, hosts[0].slots, attempt, files)
                                  : RunRemote(flags, launcher, hosts, attempt, files));
    const absl::Status status = ToStatus(end, launcher);
    // Neither a wrong command line nor a wish to stop gets better by trying again.
    if (status.ok() || end.signal != 0 || attempt >= flags.restarts || ExitCode(status) == 2) {
      return status;
    }
    PrintEscaped(stderr, "penstock launch: %s\npenstock launch: starting again, %d of %d\n",
                 Multiline(ShownMessage(status)), attempt + 1, flags.restarts);
  }
}

absl::Status Launch(const LaunchFlags& flags) {
  if (flags.check_build) return PrintBuild();
  if (!flags.line.status.ok()) return UsageError(flags.line.status.message());
  if (flags.line.program.empty()) {
    return UsageError("which program? penstock launch -np 2 -- penstock-train ...");
  }
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<LaunchHost> hosts, Hosts(flags));
  PENSTOCK_ASSIGN_OR_RETURN(const std::string launcher,
                            ChooseLauncher(flags, hosts, ProcessEnvironment()));
  TellNotes(flags, launcher);
  RankFiles files;
  if (launcher == "local" && !flags.output_folder.empty()) {  // Elsewhere mpirun writes them.
    PENSTOCK_ASSIGN_OR_RETURN(files, RankFiles::Create(flags.output_folder, hosts[0].slots));
  }
  const absl::Status status = RunWithRestarts(flags, launcher, hosts, files);
  if (const absl::Status written = files.Flush(); !written.ok()) {
    PrintEscaped(stderr, "penstock launch: %s\n", written.message());
  }
  return status;
}

}  // namespace

void AddLaunchCommand(CLI::App& app, absl::Status& outcome, LaunchLine line) {
  CLI::App& command = AddCommand(
      app, "launch",
      "Start a program as several ranks of one training: on this host by itself, on several by\n"
      "mpirun or srun. The first rank that fails ends all; signals are passed on. Takes the lines "
      "of\n"
      "horovodrun, perseusrun and mpirun; says which of their options have no effect here.",
      "penstock launch -np 4 -- penstock-train --manifest data/manifest.pb --servers a:7070\n"
      "penstock launch -np 4 -H node1:2,node2:2 -- penstock-train --manifest data/manifest.pb\n"
      "penstock launch --check-build");
  auto flags = std::make_shared<LaunchFlags>();
  flags->line = std::move(line);
  command.add_option("--np,--num-proc", flags->ranks, "Ranks (-np); 0: every slot of the hosts");
  command.add_option("-H,--hosts", flags->hosts, "HOST:SLOTS,HOST:SLOTS; empty: this host");
  command.add_option("--hostfile", flags->hostfile, "File of hosts: \"name slots=2\" a line");
  command.add_option("--gpus", flags->gpus, "GPU of each rank of a host, as 0,1,2,3");
  command.add_option("--restarts", flags->restarts, "Times to start all again when one failed");
  command.add_option("--launcher", flags->launcher, "Who starts the ranks")
      ->check(CLI::IsMember({"auto", "local", "mpirun", "srun"}));
  command.add_option("--port", flags->port, "Where rank 0 listens; 0: one that is free here");
  command.add_option("-p,--ssh-port", flags->ssh_port, "Of the other hosts, for mpirun; 0: usual");
  command.add_option("--network-interface,--network-interfaces", flags->interface,
                     "Network between the ranks, and of mpirun's own messages");
  command.add_option("-i,--ssh-identity-file", flags->ssh_key, "Key for the other hosts");
  command.add_option("--start-timeout", flags->start_timeout_s,
                     "Seconds until all ranks must have met; 0: penstock-train's 2m");
  command.add_option("-x", flags->variables, "NAME or NAME=VALUE, a variable for all ranks")
      ->allow_extra_args(false);
  command.add_option("--output-filename", flags->output_folder,
                     "Folder for what each rank prints, too: rank.0/stdout, rank.0/stderr, ...");
  command.add_flag("--prefix-output-with-timestamp", flags->timestamps,
                   "Begin every line of output with the time");
  command.add_flag("--check-build", flags->check_build, "Print what this build starts and finds");
  command.add_flag("--verbose", flags->verbose, "Print the line that mpirun or srun is started by");
  command.add_flag("--gloo", flags->gloo,
                   "For horovodrun's lines: ranks on CPUs always talk over TCP");
  command.add_flag("--mpi", flags->mpi, "As --launcher mpirun");
  OnRun(command, outcome, [flags] { return Launch(*flags); });
}

}  // namespace penstock
