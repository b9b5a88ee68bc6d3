// penstock launch: runs a program as several ranks, on this host or on several hosts.
#include <memory>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/io/input_file.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/launch/check_build.h"
#include "cli/launch/find_program.h"
#include "cli/launch/launch_end.h"
#include "cli/launch/rank_files.h"
#include "cli/launch/run_ranks.h"

namespace penstock {
namespace {

absl::StatusOr<std::vector<LaunchHost>> Hosts(const LaunchFlags& flags) {
  if (!flags.hosts.empty() && !flags.hostfile.empty()) {
    return UsageError("give -H or --hostfile, not both");
  }
  if (flags.hosts.empty() && flags.hostfile.empty()) {
    if (flags.ranks == 0) return UsageError("-np is missing or 0; give -np N, the number of ranks");
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
    return UsageError(absl::StrCat(
        host.name, " is a different machine on each host; give a name that all hosts can resolve"));
  }
  return placed;
}

bool IsThisHost(const std::string& name) {
  return name == "localhost" || name == "127.0.0.1" || name == OwnHost();
}

// Returns "local", "mpirun" or "srun".
absl::StatusOr<std::string> ChooseLauncher(const LaunchFlags& flags,
                                           const std::vector<LaunchHost>& hosts,
                                           const Environment& environment) {
  const bool is_local = hosts.size() == 1 && IsThisHost(hosts[0].name);
  if (flags.launcher == "local" && !is_local) {
    return UsageError(
        "--launcher local starts ranks only on this host; remove the other hosts, or use mpirun or "
        "srun");
  }
  if (flags.launcher != "auto") return flags.launcher;
  if (flags.mpi) return "mpirun";
  if (is_local) return "local";
  const std::string path = SearchPath(environment);
  if (environment.contains("SLURM_JOB_ID") && !FindProgram("srun", path).empty()) return "srun";
  if (!FindProgram("mpirun", path).empty()) return "mpirun";
  return absl::FailedPreconditionError(
      "several hosts need mpirun or srun, and neither was found; install mpirun (Debian: "
      "openmpi-bin), or run inside a Slurm allocation");
}

void TellNotes(const LaunchFlags& flags, absl::string_view launcher) {
  std::vector<std::string> notes = flags.line.notes;
  if (launcher != "mpirun" && !flags.line.mpirun.empty()) {
    notes.push_back(
        absl::StrCat(absl::StrJoin(flags.line.mpirun, " "),
                     " is ignored: mpirun does not start these ranks; give --mpi to use it"));
  }
  if (launcher == "srun" && !flags.output_folder.empty()) {
    notes.push_back("--output-filename is ignored with srun: use sbatch --output");
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
    // Trying again cannot help if the command line is wrong or the user wants to stop.
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
    return UsageError(
        "no program is given; for example: penstock launch -np 2 -- penstock-train ...");
  }
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<LaunchHost> hosts, Hosts(flags));
  PENSTOCK_ASSIGN_OR_RETURN(const std::string launcher,
                            ChooseLauncher(flags, hosts, ProcessEnvironment()));
  TellNotes(flags, launcher);
  RankFiles files;
  // With mpirun, it is mpirun that writes these files.
  if (launcher == "local" && !flags.output_folder.empty()) {
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
      "Start a program as several ranks of one training. On one host it starts them itself, on "
      "several hosts with mpirun or srun. The first rank that fails ends all; signals are passed "
      "on. It accepts the command lines of horovodrun, perseusrun and mpirun, and says which of "
      "their options have no effect here.",
      "penstock launch -np 4 -- penstock-train data --servers node9:7070\n"
      "penstock launch -np 4 -H node1:2,node2:2 -- \\\n"
      "    penstock-train data --servers node9:7070\n"
      "penstock launch --check-build",
      "Exit codes:\n"
      "  N: The code of the first rank that did not end with 0; 128 + N if signal N ended it.\n\n"
      "Environment:\n"
      "  PATH: Where mpirun, srun and the program are found. Passed on to all ranks, as are "
      "LD_LIBRARY_PATH, PYTHONPATH and every PENSTOCK_ variable.\n"
      "  SLURM_JOB_ID: Set in a Slurm allocation; ranks on several hosts are then started with "
      "srun.");
  command.group("Run");
  auto flags = std::make_shared<LaunchFlags>();
  flags->line = std::move(line);
  command.add_option("--np,--num-proc", flags->ranks,
                     "Ranks to start (-np); 0: every slot of the hosts");
  command.add_option("-H,--hosts", flags->hosts, "HOST:SLOTS,HOST:SLOTS; empty: this host")
      ->type_name("LIST");
  command.add_option("--hostfile", flags->hostfile, "File of hosts, one \"NAME slots=2\" a line")
      ->type_name("FILE");
  command.add_option("--gpus", flags->gpus, "GPU of each rank of a host, such as 0,1,2,3")
      ->type_name("LIST");
  command.add_option("--restarts", flags->restarts, "Times to restart all ranks after one failed");
  command.add_option("--launcher", flags->launcher, "Program that starts the ranks")
      ->check(CLI::IsMember({"auto", "local", "mpirun", "srun"}))
      ->type_name("NAME");
  command.add_flag("--mpi", flags->mpi, "The same as --launcher mpirun");
  command.add_flag("--gloo", flags->gloo,
                   "Accepted as an option of horovodrun: ranks on CPUs always use TCP");
  command.option_defaults()->group("Ranks");
  command.add_option("-x", flags->variables, "Variable for all ranks, NAME or NAME=VALUE")
      ->allow_extra_args(false)
      ->type_name("NAME");
  command.add_option("--port", flags->port,
                     "Port where rank 0 listens; 0: a free one of this host");
  command
      .add_option("--network-interface,--network-interfaces", flags->interface,
                  "Network interface between ranks, and of mpirun's own messages")
      ->type_name("NAME");
  command.add_option("--start-timeout", flags->start_timeout_s,
                     "Seconds until all ranks must have met; 0: penstock-train's 2m");
  command.add_option("-p,--ssh-port", flags->ssh_port,
                     "SSH port of the other hosts, for mpirun; 0: the usual one");
  command.add_option("-i,--ssh-identity-file", flags->ssh_key, "SSH key for the other hosts")
      ->type_name("FILE");
  command.option_defaults()->group("Output");
  command
      .add_option("--output-filename", flags->output_folder,
                  "Also write what each rank prints to DIR/rank.0/stdout, DIR/rank.0/stderr, ...")
      ->type_name("DIR");
  command.add_flag("--prefix-output-with-timestamp", flags->timestamps,
                   "Begin every line of output with the time");
  command.add_flag("--verbose", flags->verbose, "Print the command line of mpirun or srun");
  command.add_flag("--check-build", flags->check_build, "Print what this build starts and finds");
  OnRun(command, outcome, [flags] { return Launch(*flags); });
}

}  // namespace penstock
