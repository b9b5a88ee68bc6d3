#include "bench/server_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "base/io/unique_fd.h"
#include "base/status.h"

namespace penstock {
namespace {

// Reads the address from the line that penstock-server writes once it serves:
// "... address=127.0.0.1:1234 root=...".
absl::StatusOr<std::string> ReadAddress(int fd) {
  std::string said;
  for (char c; read(fd, &c, 1) == 1 && c != '\n';) said += c;
  size_t begin = said.find("address=");
  if (begin == std::string::npos) {
    return absl::UnavailableError(absl::StrCat("penstock-server said: ", said));
  }
  begin += 8;
  return said.substr(begin, said.find(' ', begin) - begin);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ServerProcess>> ServerProcess::Start(
    const std::string& data_root, const std::vector<std::string>& arguments) {
  std::string program =
      (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "penstock-server").string();
  int pipe_fds[2];
  if (pipe2(pipe_fds, O_CLOEXEC) != 0) return ErrnoToStatus(errno, "pipe");
  UniqueFd reader(pipe_fds[0]);
  UniqueFd writer(pipe_fds[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, writer.get(), STDERR_FILENO);
  std::vector<const char*> argv = {"penstock-server", "--data-root", data_root.c_str(), "--listen",
                                   "127.0.0.1:0"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  argv.push_back(nullptr);
  pid_t pid = 0;
  int error = posix_spawn(&pid, program.c_str(), &actions, nullptr,
                          const_cast<char* const*>(argv.data()), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return ErrnoToStatus(error, program);
  writer = UniqueFd();
  std::unique_ptr<ServerProcess> server(new ServerProcess(pid));
  PENSTOCK_ASSIGN_OR_RETURN(server->address_, ReadAddress(reader.get()));
  return server;
}

ServerProcess::~ServerProcess() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

double ServerProcess::CpuSeconds() const {
  std::ifstream file(absl::StrCat("/proc/", pid_, "/stat"));
  std::string line;
  std::getline(file, line);
  // In proc(5), utime and stime are fields 14 and 15. The name, field 2, may hold spaces.
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace penstock
