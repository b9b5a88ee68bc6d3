// Measures what a piece of code takes without the parts of it that are somebody else's.
#ifndef PENSTOCK_CLIENT_FETCH_SIM_STOPWATCH_H_
#define PENSTOCK_CLIENT_FETCH_SIM_STOPWATCH_H_

#include <chrono>

namespace penstock::sim {

// Not thread-safe.
class Stopwatch {
 public:
  // Runs, or pauses, until the end of a scope, and then again the other way round.
  class Scope {
   public:
    Scope(Stopwatch& watch, bool run) : watch_(watch), run_(run) { watch_.Turn(run_); }
    ~Scope() { watch_.Turn(!run_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Stopwatch& watch_;
    const bool run_;
  };

  // Off: measures nothing, and costs next to nothing.
  explicit Stopwatch(bool on) : on_(on) {}
  std::chrono::nanoseconds total() const { return total_; }

 private:
  void Turn(bool run) {
    if (!on_) return;
    const auto now = std::chrono::steady_clock::now();
    if (!run) total_ += now - since_;
    since_ = now;
  }

  const bool on_;
  std::chrono::nanoseconds total_ = {};
  std::chrono::steady_clock::time_point since_;
};

}  // namespace penstock::sim

#endif  // PENSTOCK_CLIENT_FETCH_SIM_STOPWATCH_H_
