// The processes of one host's ranks, from start to end.
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
    int code;                             // 1 to 255; 128 + N: ended by signal N.
    std::vector<std::string> last_lines;  // Of its output.
    // What it wrote first to standard error, if that is no longer among the last lines.
    std::vector<std::string> first_error_lines = {};
  };
  std::optional<Failure> failure;  // The first; absent: all ended with 0.
  int signal = 0;                  // That was passed on to them; 0: none.
};

// Runs until all ranks have ended, with all that they started: each is a process group of its own,
// so that a terminal's Ctrl-C reaches it once, and gets every signal as a group. What StopSignals
// takes for a wish is passed on to all, SIGHUP as SIGTERM. The first rank that fails ends the
// others: by SIGTERM, and after `grace` by SIGKILL; so do ranks that have ended what they left
// behind. If this process dies they get what SIGTERM is passed on as. Ranks wait for who reads what
// they print, signals do not: once ranks are told to end, lines that find no place are dropped.
// Not thread-safe; one at a time, in a process without other children.
class RankProcesses {
 public:
  // A whole line without its end. `is_error`: of stderr.
  using Sink = std::function<void(size_t rank, bool is_error, absl::string_view line)>;

  static constexpr size_t kLastLines = 20;
  static constexpr size_t kFirstErrorLines = 5;

  // Rank r gets environments[r] as its whole environment.
  RankProcesses(std::vector<std::string> program, std::vector<Environment> environments, Sink sink,
                std::chrono::milliseconds grace = std::chrono::seconds(10));
  ~RankProcesses();
  RankProcesses(const RankProcesses&) = delete;
  RankProcesses& operator=(const RankProcesses&) = delete;

  // For programs that take another signal for the wish to end.
  void PassOn(int signal, int as) { passed_on_as_[signal] = as; }

  // What the sink adds to `output`, which must outlive Run(), is written when it can be; while it
  // is full ranks are not read.
  void WriteTo(LineOutput& output) { outputs_.push_back(&output); }

  // Errors: a system call that failed. A program that cannot be run is a rank that fails with 127.
  absl::StatusOr<RanksEnd> Run();

 private:
  using Clock = std::chrono::steady_clock;
  // Of a rank's output.
  struct KeptLines {
    size_t count = 0;  // All of them; the last ones are kept.
    std::deque<std::string> last = {};
    std::vector<std::pair<size_t, std::string>> first_error_lines = {};  // With their places.
  };
  struct Pipe {
    size_t rank;
    bool is_error;
    int fd;
    std::string partial;  // Of the line that has not ended.
  };

  absl::Status StartAll();
  absl::Status Start(size_t rank);
  [[noreturn]] void Execute(size_t rank, const int (&out)[2], const int (&err)[2]) const;
  absl::Status Loop();
  // Lines from ranks to outputs, until `timeout_ms` passed or something happened; false: nothing.
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
  void EndWhatIsLeft();
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
  std::set<pid_t> groups_;  // Of ranks that run, and of those that left processes behind.
  std::map<int, int> passed_on_as_;
  std::vector<Pipe> pipes_;
  std::vector<LineOutput*> outputs_;
  std::vector<KeptLines> kept_;
  RanksEnd end_;
  bool first_was_killed_ = false;
  bool sent_kill_ = false;
  std::optional<Clock::time_point> kill_at_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_LAUNCH_RANK_PROCESSES_H_
