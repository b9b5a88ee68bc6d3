#include "cli/launch/rank_processes.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/print_escaped.h"
#include "base/status.h"

namespace penstock {
namespace {

constexpr size_t kMaxLine = 64 * 1024;  // Longer lines are passed on in parts.
// Maximum number of consecutive reads of one pipe, before the others get their turn.
constexpr int kTurns = 8;

sigset_t HandledSignals() {
  sigset_t set = StopSignals::Set();
  sigaddset(&set, SIGCHLD);
  return set;
}

int CodeOf(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

RankProcesses::RankProcesses(std::vector<std::string> program,
                             std::vector<Environment> environments, Sink sink,
                             std::chrono::milliseconds grace)
    : program_(std::move(program)),
      environments_(std::move(environments)),
      sink_(std::move(sink)),
      grace_(grace),
      passed_on_as_({{SIGHUP, SIGTERM}}),
      kept_(environments_.size()) {}

RankProcesses::~RankProcesses() {
  SendToAll(SIGKILL);
  for (const auto& [pid, rank] : running_) waitpid(pid, nullptr, 0);
  for (const Pipe& pipe : pipes_) close(pipe.fd);
  if (signals_ >= 0) close(signals_);
}

absl::StatusOr<RanksEnd> RankProcesses::Run() {
  const sigset_t handled = HandledSignals();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &handled, &before);
  signals_ = signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
  absl::Status status = signals_ < 0 ? ErrnoToStatus(errno, "signalfd") : absl::OkStatus();
  // This process must wait for the processes that ranks leave behind.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (status.ok()) status = StartAll();
  if (status.ok()) status = Loop();
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  PENSTOCK_RETURN_IF_ERROR(status);
  if (end_.failure.has_value()) TellLinesOfFailure();
  return end_;
}

void RankProcesses::TellLinesOfFailure() {
  const KeptLines& kept = kept_[end_.failure->rank];
  end_.failure->last_lines.assign(kept.last.begin(), kept.last.end());
  for (const auto& [place, line] : kept.first_error_lines) {
    if (place < kept.count - kept.last.size()) end_.failure->first_error_lines.push_back(line);
  }
}

// Stops starting ranks as soon as one fails or a signal comes, because there may be many ranks.
absl::Status RankProcesses::StartAll() {
  for (size_t rank = 0; rank < environments_.size(); ++rank) {
    PENSTOCK_RETURN_IF_ERROR(Start(rank));
    ReadSignals();
    Reap();
    if (end_.signal != 0 || end_.failure.has_value()) break;
  }
  return absl::OkStatus();
}

absl::Status RankProcesses::Start(size_t rank) {
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0) return ErrnoToStatus(errno, "pipe");
  pipes_.push_back({rank, false, out[0], ""});
  if (pipe2(err, O_CLOEXEC) != 0) {
    close(out[1]);
    return ErrnoToStatus(errno, "pipe");
  }
  pipes_.push_back({rank, true, err[0], ""});
  const pid_t pid = fork();
  if (pid == 0) Execute(rank, out, err);
  const int error = errno;
  close(out[1]);
  close(err[1]);
  if (pid < 0) return ErrnoToStatus(error, absl::StrCat("starting rank ", rank));
  setpgid(pid, pid);  // Set in the parent too, so that the group exists before any signal is sent.
  running_[pid] = rank;
  groups_.insert(pid);
  for (const int fd : {out[0], err[0]}) fcntl(fd, F_SETFL, O_NONBLOCK);
  return absl::OkStatus();
}

void RankProcesses::Execute(size_t rank, const int (&out)[2], const int (&err)[2]) const {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, PassedOnAs(SIGTERM));
  dup2(out[1], STDOUT_FILENO);
  dup2(err[1], STDERR_FILENO);
  if (const int null = open("/dev/null", O_RDONLY); null >= 0) dup2(null, STDIN_FILENO);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGXFSZ, SIG_DFL);
  std::vector<std::string> variables;
  for (const auto& [name, value] : environments_[rank]) {
    variables.push_back(absl::StrCat(name, "=", value));
  }
  std::vector<char*> arguments, environment;
  for (const std::string& word : program_) arguments.push_back(const_cast<char*>(word.c_str()));
  for (std::string& variable : variables) environment.push_back(variable.data());
  arguments.push_back(nullptr);
  environment.push_back(nullptr);
  environ = environment.data();  // execvp() searches its PATH.
  execvp(arguments[0], arguments.data());
  PrintEscaped(stderr, "penstock launch: %s cannot be run: %s\n", arguments[0],
               std::strerror(errno));
  _exit(127);
}

int RankProcesses::WaitMs() const {
  constexpr int kPollMs = 100;
  if (kill_at_.has_value() || running_.empty() || end_.signal != 0) return kPollMs;
  return tell_quiet_ ? kPollMs : -1;
}

void RankProcesses::TellOfQuiet() {
  if (!tell_quiet_ || Clock::now() < *quiet_at_) return;
  std::exchange(tell_quiet_, nullptr)();
}

absl::Status RankProcesses::Loop() {
  quiet_at_ = Clock::now() + quiet_after_;
  while (!groups_.empty()) {
    PENSTOCK_RETURN_IF_ERROR(MoveLines(WaitMs()).status());
    TellOfQuiet();
    Reap();
    AdoptOrphans();
    ForgetEmptyGroups();
    EndWhatIsLeft();
    if (kill_at_.has_value() && Clock::now() >= *kill_at_) {
      sent_kill_ = true;
      SendToAll(SIGKILL);
    }
  }
  Drain();
  return WriteTheRest();
}

absl::StatusOr<bool> RankProcesses::MoveLines(int timeout_ms) {
  const bool reads = MayRead();
  std::vector<pollfd> polled = {{signals_, POLLIN, 0}};  // poll() skips a descriptor of -1.
  for (const LineOutput* output : outputs_) {
    polled.push_back({output->empty() ? -1 : output->fd(), POLLOUT, 0});
  }
  for (const Pipe& pipe : pipes_) polled.push_back({reads ? pipe.fd : -1, POLLIN, 0});
  const int ready = poll(polled.data(), polled.size(), timeout_ms);
  if (ready < 0 && errno != EINTR) return ErrnoToStatus(errno, "poll");
  if (ready <= 0) return false;
  const pollfd* next = polled.data() + 1;
  for (LineOutput* output : outputs_) {
    if (next++->revents != 0) output->Write();
  }
  for (Pipe& pipe : pipes_) {
    if (next++->revents != 0) ReadPipe(pipe);
  }
  std::erase_if(pipes_, [](const Pipe& pipe) { return pipe.fd < 0; });
  if (polled[0].revents != 0) ReadSignals();
  return true;
}

bool RankProcesses::MayRead() {
  const bool ending = end_.signal != 0 || end_.failure.has_value();
  bool may_read = true;
  for (LineOutput* output : outputs_) {
    if (ending && output->full()) output->Clear();
    may_read = may_read && !output->full();
  }
  return may_read;
}

// Waits until a slow reader has read everything. But after a signal, one second without progress
// ends the wait.
absl::Status RankProcesses::WriteTheRest() {
  const auto is_empty = [](const LineOutput* output) { return output->empty(); };
  while (!std::all_of(outputs_.begin(), outputs_.end(), is_empty)) {
    PENSTOCK_ASSIGN_OR_RETURN(const bool moved, MoveLines(end_.signal == 0 ? -1 : 1000));
    if (!moved && end_.signal != 0) break;
  }
  return absl::OkStatus();
}

void RankProcesses::ReadSignals() {
  signalfd_siginfo info;
  while (read(signals_, &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo == SIGCHLD) continue;
    const int signal = static_cast<int>(info.ssi_signo);
    if (stop_signals_.Receive(signal) == StopSignals::Meaning::kNothing) continue;
    end_.signal = signal;
    SendToAll(PassedOnAs(signal));
  }
}

void RankProcesses::ReadPipe(Pipe& pipe) {
  char bytes[16384];
  ssize_t count = 0;
  // A rank that writes without pause must not block signals and other ranks.
  for (int turn = 0; turn < kTurns && (count = read(pipe.fd, bytes, sizeof(bytes))) > 0; ++turn) {
    pipe.partial.append(bytes, static_cast<size_t>(count));
    size_t begin = 0;
    for (size_t end; (end = pipe.partial.find('\n', begin)) != std::string::npos; begin = end + 1) {
      Tell(pipe, absl::string_view(pipe.partial).substr(begin, end - begin));
    }
    pipe.partial.erase(0, begin);
    if (pipe.partial.size() > kMaxLine) FlushPartial(pipe);
  }
  if (count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR))) return;
  FlushPartial(pipe);
  close(std::exchange(pipe.fd, -1));
}

void RankProcesses::Tell(const Pipe& pipe, absl::string_view line) {
  tell_quiet_ = nullptr;
  KeptLines& kept = kept_[pipe.rank];
  if (pipe.is_error && kept.first_error_lines.size() < kFirstErrorLines) {
    kept.first_error_lines.emplace_back(kept.count, line);
  }
  kept.last.emplace_back(line);
  if (kept.last.size() > kLastLines) kept.last.pop_front();
  ++kept.count;
  sink_(pipe.rank, pipe.is_error, line);
}

void RankProcesses::FlushPartial(Pipe& pipe) {
  if (!pipe.partial.empty()) Tell(pipe, pipe.partial);
  pipe.partial.clear();
}

void RankProcesses::Reap() {
  int status = 0;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) Ended(pid, status);
}

// Reports a rank that a signal ended rather than the ranks that failed because of it, which exit by
// themselves.
void RankProcesses::Ended(pid_t pid, int status) {
  const auto it = running_.find(pid);
  if (it == running_.end()) return;
  const size_t rank = it->second;
  running_.erase(it);
  const int code = CodeOf(status);
  if (code == 0) return;
  const bool is_first = !end_.failure.has_value();
  // The rank was killed by a signal that this process did not send.
  const bool killed = WIFSIGNALED(status) && WTERMSIG(status) != SIGTERM && !sent_kill_;
  if (is_first || (killed && !first_was_killed_)) {
    end_.failure = {rank, code, {}};
    first_was_killed_ = killed;
  }
  if (is_first && end_.signal == 0) SendToAll(SIGTERM);
  // A rank that ended by the signal that was passed on has not failed; others may still be saving.
  const bool as_told = end_.signal != 0 && (code == 128 + end_.signal || code == 128 + SIGTERM ||
                                            code == 128 + PassedOnAs(end_.signal));
  if (!as_told && !kill_at_.has_value()) kill_at_ = Clock::now() + grace_;
}

void RankProcesses::ForgetEmptyGroups() {
  std::erase_if(groups_, [this](pid_t group) {
    return !running_.contains(group) && kill(-group, 0) != 0 && errno == ESRCH;
  });
}

// Finds the processes that ranks started in other groups. This process becomes their parent when
// theirs has ended. If the ranks were told to end, these are told now.
void RankProcesses::AdoptOrphans() {
  if (!running_.empty() && !kill_at_.has_value() && end_.signal == 0) return;
  std::ifstream children("/proc/thread-self/children");
  for (pid_t child; children >> child;) {
    const pid_t group = getpgid(child);
    if (running_.contains(child) || group <= 0 || group == getpgrp()) continue;
    const bool is_new = groups_.insert(group).second;
    if (is_new && (kill_at_.has_value() || end_.signal != 0)) kill(-group, SIGTERM);
  }
}

// Ends the processes that ranks have started, once all ranks have ended, because nobody else would
// end them. If they were told to end, waits for them, because they may be saving.
void RankProcesses::EndWhatIsLeft() {
  if (!running_.empty() || groups_.empty() || kill_at_.has_value() || end_.signal != 0) return;
  SendToAll(SIGTERM);
  kill_at_ = Clock::now() + grace_;
}

int RankProcesses::PassedOnAs(int signal) const {
  const auto as = passed_on_as_.find(signal);
  return as == passed_on_as_.end() ? signal : as->second;
}

// The group's number stays valid as long as any of its processes lives.
void RankProcesses::SendToAll(int signal) {
  for (const pid_t group : groups_) kill(-group, signal);
}

// Reads the remaining output after the end. Processes that ranks left behind may keep a pipe open.
void RankProcesses::Drain() {
  for (Pipe& pipe : pipes_) {
    ReadPipe(pipe);
    if (pipe.fd < 0) continue;
    FlushPartial(pipe);
    close(pipe.fd);
  }
  pipes_.clear();
}

}  // namespace penstock
