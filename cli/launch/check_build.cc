#include "cli/launch/check_build.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/print_escaped.h"
#include "base/process/environment.h"
#include "base/status.h"
#include "cli/launch/find_program.h"
#include "penstock_version.h"

namespace penstock {
namespace {

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

}  // namespace

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

}  // namespace penstock
