#include "cli/chess/uci_engine.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "cli/terminal/interrupt.h"

namespace penstock {
namespace {

constexpr size_t kMaxLineBytes = size_t{1} << 20;
// A process closes its pipes slightly before it can be waited for.
constexpr absl::Duration kTimeToEnd = absl::Seconds(1);

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoToStatus(errno, "cannot make a pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// Runs in the child, between fork and exec, so it makes only async-signal-safe calls. If it fails,
// it sends errno through `error`, which a successful exec closes.
[[noreturn]] void BecomeEngine(const char* path, int in, int out, int error, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int number : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM}) signal(number, SIG_DFL);
  const bool parent_lives = getppid() == parent;
  if (parent_lives && dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0) {
    execl(path, path, static_cast<char*>(nullptr));
  }
  const int code = errno;
  if (write(error, &code, sizeof code) < 0) _exit(126);
  _exit(127);
}

// Describes how the process ended.
std::string DescribeExit(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    return absl::StrCat("was killed by signal ", WTERMSIG(wait_status));
  }
  return absl::StrCat("exited with code ", WEXITSTATUS(wait_status));
}

// Returns whether the child ended within `time`. Leaves it to be reaped.
bool EndsWithin(pid_t pid, absl::Duration time) {
  const absl::Time deadline = absl::Now() + time;
  while (true) {
    siginfo_t info = {};
    if (waitid(P_PID, pid, &info, WEXITED | WNOWAIT | WNOHANG) == 0 && info.si_pid == pid) {
      return true;
    }
    if (absl::Now() >= deadline) return false;
    absl::SleepFor(absl::Milliseconds(1));
  }
}

}  // namespace

absl::StatusOr<std::string> FindEngine(const std::string& name) {
  std::vector<std::string> candidates;
  if (absl::StrContains(name, "/")) {
    candidates.push_back(name);
  } else {
    const char* path = std::getenv("PATH");
    for (absl::string_view folder :
         absl::StrSplit(absl::StrCat(path == nullptr ? "" : path, ":/usr/games:/usr/local/games"),
                        ':', absl::SkipEmpty())) {
      candidates.push_back(absl::StrCat(folder, "/", name));
    }
  }
  for (const std::string& candidate : candidates) {
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return absl::NotFoundError(absl::StrCat(
      "no chess engine '", name, "' that can be executed (looked in $PATH, /usr/games and ",
      "/usr/local/games); install one with `apt-get install stockfish` or name it with --engine"));
}

absl::StatusOr<UciEngine> UciEngine::Start(const UciEngineOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(Pipe in, MakePipe());
  PENSTOCK_ASSIGN_OR_RETURN(Pipe out, MakePipe());
  PENSTOCK_ASSIGN_OR_RETURN(Pipe error, MakePipe());
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return ErrnoToStatus(errno, "cannot start a chess engine");
  if (pid == 0) {
    BecomeEngine(options.path.c_str(), in.read.get(), out.write.get(), error.write.get(), parent);
  }
  UciEngine engine(options, pid, std::move(in.write), std::move(out.read));
  in.read.Reset();
  out.write.Reset();
  error.write.Reset();
  int code = 0;
  if (read(error.read.get(), &code, sizeof code) == sizeof code) {
    return ErrnoToStatus(code, absl::StrCat("cannot execute ", options.path));
  }
  PENSTOCK_RETURN_IF_ERROR(engine.Handshake());
  return engine;
}

UciEngine::UciEngine(UciEngine&& other) noexcept
    : options_(std::move(other.options_)),
      pid_(std::exchange(other.pid_, -1)),
      in_(std::move(other.in_)),
      out_(std::move(other.out_)),
      buffer_(std::move(other.buffer_)),
      name_(std::move(other.name_)) {}

// An engine writes no files, so it can be killed without waiting.
UciEngine::~UciEngine() {
  if (pid_ < 0) return;
  // Kills the whole group: --engine may be a script that starts another program.
  kill(-pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

absl::Status UciEngine::Handshake() {
  PENSTOCK_RETURN_IF_ERROR(Send("uci"));
  PENSTOCK_RETURN_IF_ERROR(WaitFor("uciok"));
  PENSTOCK_RETURN_IF_ERROR(Send("setoption name Threads value 1"));
  PENSTOCK_RETURN_IF_ERROR(Send(absl::StrCat("setoption name Hash value ", options_.hash_mib)));
  return NewGame();
}

absl::Status UciEngine::NewGame() {
  PENSTOCK_RETURN_IF_ERROR(Send("ucinewgame"));
  PENSTOCK_RETURN_IF_ERROR(Send("isready"));
  return WaitFor("readyok");
}

absl::StatusOr<Evaluation> UciEngine::Search(absl::string_view fen, const SearchLimit& limit) {
  const std::string go = limit.nodes > 0 ? absl::StrCat("go nodes ", limit.nodes)
                                         : absl::StrCat("go depth ", limit.depth);
  PENSTOCK_RETURN_IF_ERROR(Send(absl::StrCat("position fen ", fen)));
  PENSTOCK_RETURN_IF_ERROR(Send(go));
  const absl::Time deadline = absl::Now() + options_.timeout;
  Evaluation evaluation;
  bool has_score = false;
  while (true) {
    PENSTOCK_ASSIGN_OR_RETURN(const std::string line, ReadLine(go, deadline));
    if (absl::StartsWith(line, "info ")) {
      has_score |= ParseInfoScore(line, evaluation);
    } else if (absl::StartsWith(line, "bestmove ")) {
      const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
      evaluation.best_move = std::string(words[1]);
      break;
    }
  }
  if (!has_score) {
    return absl::InternalError(absl::StrCat(options_.path, " gave no score for ", fen));
  }
  return evaluation;
}

absl::Status UciEngine::Send(absl::string_view command) {
  std::string line = absl::StrCat(command, "\n");
  absl::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = write(in_.get(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Ended(command);
    rest.remove_prefix(written);
  }
  return absl::OkStatus();
}

absl::Status UciEngine::WaitFor(absl::string_view line) {
  const absl::Time deadline = absl::Now() + options_.timeout;
  while (true) {
    PENSTOCK_ASSIGN_OR_RETURN(const std::string got, ReadLine(line, deadline));
    if (got == line) return absl::OkStatus();
    absl::string_view name = got;
    if (absl::ConsumePrefix(&name, "id name ")) name_ = std::string(name);
  }
}

absl::StatusOr<std::string> UciEngine::ReadLine(absl::string_view awaited, absl::Time deadline) {
  while (true) {
    const size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      if (!line.empty() && line.back() == '\r') line.pop_back();
      return line;
    }
    if (buffer_.size() > kMaxLineBytes) {
      return absl::InternalError(
          absl::StrCat(options_.path, " wrote a line longer than 1 MiB; is it a UCI engine?"));
    }
    PENSTOCK_RETURN_IF_ERROR(WaitReadable(awaited, deadline));
    char bytes[4096];
    const ssize_t count = read(out_.get(), bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Ended(awaited);
    buffer_.append(bytes, count);
  }
}

absl::Status UciEngine::WaitReadable(absl::string_view awaited, absl::Time deadline) {
  while (true) {
    PENSTOCK_RETURN_IF_ERROR(InterruptGuard::Check());
    const int64_t left_ms = absl::ToInt64Milliseconds(deadline - absl::Now());
    if (left_ms < 0) {
      return absl::DeadlineExceededError(absl::StrCat(options_.path, " did not answer '", awaited,
                                                      "' within ",
                                                      absl::FormatDuration(options_.timeout)));
    }
    pollfd waits[] = {{out_.get(), POLLIN, 0}, {InterruptGuard::descriptor(), POLLIN, 0}};
    const int ready = poll(waits, 2, static_cast<int>(std::min<int64_t>(left_ms + 1, 1 << 30)));
    if (ready < 0 && errno != EINTR) return ErrnoToStatus(errno, "poll");
    if (ready > 0 && waits[0].revents != 0) return absl::OkStatus();
  }
}

// The process closed its end of the pipe, so it has ended or will end soon. A process that only
// closed its pipe is killed here.
absl::Status UciEngine::Ended(absl::string_view awaited) {
  const bool ended = EndsWithin(pid_, kTimeToEnd);
  if (!ended) kill(-pid_, SIGKILL);
  int wait_status = 0;
  while (waitpid(pid_, &wait_status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return absl::UnavailableError(absl::StrCat(
      options_.path, " ", ended ? DescribeExit(wait_status) : "closed its pipe without ending",
      " while '", awaited, "' was awaited"));
}

bool ParseInfoScore(absl::string_view info, Evaluation& evaluation) {
  const std::vector<absl::string_view> words = absl::StrSplit(info, ' ', absl::SkipEmpty());
  const auto score = std::find(words.begin(), words.end(), "score");
  if (words.end() - score < 3) return false;
  const bool mate = score[1] == "mate";
  int value = 0;
  if ((!mate && score[1] != "cp") || !absl::SimpleAtoi(score[2], &value)) return false;
  if (words.end() - score > 3 && (score[3] == "lowerbound" || score[3] == "upperbound")) {
    return false;
  }
  evaluation.mate = mate;
  evaluation.value = value;
  return true;
}

}  // namespace penstock
