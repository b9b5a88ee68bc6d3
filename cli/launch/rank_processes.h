// Runs the processes of one host's ranks from start to end.
#ifndef PENSTOCK_CLI_LAUNCH_RANK_PROCESSES_H_
#define PENSTOCK_CLI_LAUNCH_RANK_PROCESSES_H_

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/process/environment.h"
#include "base/process/stop_signals.h"
#include "cli/launch/line_output.h"

namespace penstock {

struct RanksEnd {
  struct Failure {
    size_t rank;
    // From 1 to 255; 128 + N means that signal N ended the rank.
    int code;
    std::vector<std::string> last_lines;  // The last lines of the rank's output.
    // The first lines on standard error that are not among the last lines.
    std::vector<std::string> first_error_lines = {};
  };
  std::optional<Failure> failure;  // The first failure; absent if all ranks ended with 0.
  int signal = 0;                  // The signal that was passed on to the ranks; 0 if none was.
};

// Runs until all ranks, and all processes that they started, have ended. Each rank is a process
// group of its own, which gets every signal as a group; so Ctrl-C in a terminal reaches it only
// once. Signals that StopSignals takes for a request to stop are passed on to all ranks, SIGHUP as
// SIGTERM.
//
// The first rank that fails ends the others: by SIGTERM, and after `grace` by SIGKILL. Processes
// that ranks leave behind are ended in the same way, also those in groups of their own (mpirun's
// ssh). If this process dies, ranks get SIGTERM, or
// the signal that PassOn() sets for it.
//
// Ranks wait for a slow reader of their output, but signals do not: once ranks are told to end,
// lines that do not fit into the buffers are dropped. Not thread-safe; one at a time, in a process
// without other children.
class RankProcesses {
 public:
  // Gets a whole line without its end. `is_error` says that the line is from stderr.
  using Sink = std::function<void(size_t rank, bool is_error, absl::string_view line)>;

  static constexpr size_t kLastLines = 20;
  static constexpr size_t kFirstErrorLines = 5;

  // Rank r gets environments[r] as its whole environment.
  RankProcesses(std::vector<std::string> program, std::vector<Environment> environments, Sink sink,
                std::chrono::milliseconds grace = std::chrono::seconds(10));
  ~RankProcesses();
  RankProcesses(const RankProcesses&) = delete;
  RankProcesses& operator=(const RankProcesses&) = delete;

  // Passes `signal` on as the signal `as`, for programs that end on another signal.
  void PassOn(int signal, int as) { passed_on_as_[signal] = as; }

  // Calls `tell` once if no rank has printed a line `after` the start.
  void TellIfQuiet(std::chrono::milliseconds after, std::function<void()> tell) {
    quiet_after_ = after;
    tell_quiet_ = std::move(tell);
  }

  // Lines that the sink adds to `output` are written when possible. While `output` is full, ranks
  // are not read. `output` must outlive Run().
  void WriteTo(LineOutput& output) { outputs_.push_back(&output); }

  // Returns an error if a system call failed. A program that cannot be run counts as a rank that
  // failed with 127.
  absl::StatusOr<RanksEnd> Run();

 private:
  using Clock = std::chrono::steady_clock;
  // Kept lines of a rank's output.
  struct KeptLines {
    size_t count = 0;  // Number of all lines; only the last ones are kept.
    std::deque<std::string> last = {};
    // The first lines on standard error, each with the number of lines before it.
    std::vector<std::pair<size_t, std::string>> first_error_lines = {};
  };
  struct Pipe {
    size_t rank;
    bool is_error;
    int fd;
    std::string partial;  // The line that has not ended yet.
  };

  absl::Status StartAll();
  absl::Status Start(size_t rank);
  [[noreturn]] void Execute(size_t rank, const int (&out)[2], const int (&err)[2]) const;
  absl::Status Loop();
  // Moves lines from ranks to outputs until something happened or `timeout_ms` passed. Returns
  // false if nothing happened.
  absl::StatusOr<bool> MoveLines(int timeout_ms);
  bool MayRead();
  absl::Status WriteTheRest();
  void ReadSignals();
  void ReadPipe(Pipe& pipe);
  void Tell(const Pipe& pipe, absl::string_view line);
  void TellLinesOfFailure();
  void FlushPartial(Pipe& pipe);
  void Reap();
  void Ended(pid_t pid, int status);
  void ForgetEmptyGroups();
  void AdoptOrphans();
  void EndWhatIsLeft();
  // Returns how long to wait for an event; -1: without end.
  int WaitMs() const;
  void TellOfQuiet();
  void SendToAll(int signal);
  int PassedOnAs(int signal) const;
  void Drain();

  const std::vector<std::string> program_;
  const std::vector<Environment> environments_;
  const Sink sink_;
  const std::chrono::milliseconds grace_;
  int signals_ = -1;  // A signalfd.
  StopSignals stop_signals_;
  std::map<pid_t, size_t> running_;
  std::set<pid_t> groups_;  // Groups of running ranks, and of processes that ranks left behind.
  std::map<int, int> passed_on_as_;
  std::vector<Pipe> pipes_;
  std::vector<LineOutput*> outputs_;
  std::vector<KeptLines> kept_;
  RanksEnd end_;
  std::chrono::milliseconds quiet_after_{};
  std::function<void()> tell_quiet_;  // Empty once a line came or it was called.
  std::optional<Clock::time_point> quiet_at_;
  bool first_was_killed_ = false;
  bool sent_kill_ = false;
  std::optional<Clock::time_point> kill_at_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_LAUNCH_RANK_PROCESSES_H_
