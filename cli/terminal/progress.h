// Shows the progress of a long command on stderr: a bar on a terminal, plain lines otherwise.
#ifndef PENSTOCK_CLI_TERMINAL_PROGRESS_H_
#define PENSTOCK_CLI_TERMINAL_PROGRESS_H_

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/mutex.h"

namespace penstock {

struct ProgressOptions {
  std::string label;  // "packing"
  std::string unit =
      "records";       // The singular lacks the "s". "bytes" are printed as sizes: 1.5 GiB.
  uint64_t total = 0;  // 0 if it is unknown. Then no share and no remaining time are shown.

  // Set by tests: where to draw, whether that is a terminal, and the time.
  std::FILE* out = stderr;
  bool terminal = IsTerminal();
  std::function<absl::Time()> now = [] { return absl::Now(); };

  static bool IsTerminal();  // Returns whether stderr is a terminal.
};

// On a terminal, draws at most 10 times a second. Otherwise prints a line every 10 seconds, and one
// at the end. Draws only inside Add() and Finish(), because it has no thread of its own.
// Thread-safe.
class Progress {
 public:
  explicit Progress(ProgressOptions options);
  ~Progress();  // Calls Finish("").
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Add(uint64_t done);

  // Clears the bar. If `note` is not empty, prints "label: COUNT in TIME, RATE/s; note". Safe to
  // call twice; later calls of Add() draw nothing.
  void Finish(absl::string_view note);

 private:
  void Draw(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string Line(absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string Amount(double count) const;

  const ProgressOptions options_;
  const absl::Time start_;
  Mutex mutex_;
  uint64_t done_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time next_draw_ ABSL_GUARDED_BY(mutex_);
  bool bar_on_screen_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_TERMINAL_PROGRESS_H_
