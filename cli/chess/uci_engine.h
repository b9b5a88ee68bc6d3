// A chess engine as a child process that speaks UCI.
// Protocol: https://www.wbec-ridderkerk.nl/html/UCIProtocol.html
#ifndef PENSTOCK_CLI_CHESS_UCI_ENGINE_H_
#define PENSTOCK_CLI_CHESS_UCI_ENGINE_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/io/unique_fd.h"

namespace penstock {

// Returns the file that runs for `name`: `name` itself if it contains a slash, else the first
// executable in $PATH, /usr/games or /usr/local/games. kNotFound: there is none; the message says
// how to install one.
absl::StatusOr<std::string> FindEngine(const std::string& name);

struct UciEngineOptions {
  std::string path;  // The file that FindEngine() returns.
  int hash_mib = 16;
  absl::Duration timeout = absl::Minutes(1);  // Time limit for each answer.
};

// Exactly one of the two is positive.
struct SearchLimit {
  int64_t nodes = 0;
  int depth = 0;
};

// A result of a search, from the view of the side to move.
struct Evaluation {
  bool mate = false;
  // Centipawns. For a mate it is the distance in moves, negative if the side to move is mated.
  int value = 0;
  std::string best_move;  // "e2e4", or "(none)" if there are no legal moves.
};

// Runs an engine in its own process group, so that Ctrl-C reaches only us. The destructor ends the
// engine; if this process dies, the kernel kills it. Waiting ends early, with kCancelled, if an
// InterruptGuard took a signal. After any error the engine is unusable.
//
// Use it from the thread that started it: the kernel ties the child's life to that thread.
class UciEngine {
 public:
  // Starts the engine with one search thread.
  static absl::StatusOr<UciEngine> Start(const UciEngineOptions& options);
  UciEngine(UciEngine&& other) noexcept;
  UciEngine& operator=(UciEngine&&) = delete;
  ~UciEngine();

  // Clears the results of earlier searches, so that the next game does not depend on them.
  absl::Status NewGame();
  absl::StatusOr<Evaluation> Search(absl::string_view fen, const SearchLimit& limit);

  // The name that the engine reports: "Stockfish 15.1".
  const std::string& name() const { return name_; }
  pid_t pid() const { return pid_; }

 private:
  UciEngine(const UciEngineOptions& options, pid_t pid, UniqueFd in, UniqueFd out)
      : options_(options), pid_(pid), in_(std::move(in)), out_(std::move(out)) {}

  absl::Status Handshake();
  absl::Status Send(absl::string_view command);
  // Returns the next line without its end. Errors name `awaited`.
  absl::StatusOr<std::string> ReadLine(absl::string_view awaited, absl::Time deadline);
  absl::Status WaitReadable(absl::string_view awaited, absl::Time deadline);
  absl::Status WaitFor(absl::string_view line);
  absl::Status Ended(absl::string_view awaited);

  UciEngineOptions options_;
  pid_t pid_ = -1;  // -1 if it was moved from, or already waited for.
  UniqueFd in_;
  UniqueFd out_;
  std::string buffer_;
  std::string name_;
};

// Reads "... score cp 31 ..." or "... score mate -3 ..." into `evaluation`. Returns false if there
// is no score, or only a bound.
bool ParseInfoScore(absl::string_view info, Evaluation& evaluation);

}  // namespace penstock

#endif  // PENSTOCK_CLI_CHESS_UCI_ENGINE_H_
