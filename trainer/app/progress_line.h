// Shows a training's progress on stderr: a bar on a terminal, plain lines otherwise.
#ifndef PENSTOCK_TRAINER_APP_PROGRESS_LINE_H_
#define PENSTOCK_TRAINER_APP_PROGRESS_LINE_H_

#include <chrono>
#include <cstdio>
#include <string>

#include "trainer/loop/train_loop.h"

namespace penstock {

// Draws at most ten times a second on a terminal, else one line every ten seconds. Not thread-safe.
class ProgressLine {
 public:
  using Clock = std::chrono::steady_clock;

  ProgressLine(std::FILE* out, bool terminal) : out_(out), terminal_(terminal) {}
  ~ProgressLine() { Clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Add(const StepReport& report, Clock::time_point now = Clock::now());
  // Removes the bar, so that other lines can be printed.
  void Clear();

  // "step 120/600 [####................] loss 0.0312 2,710/s input wait 0.2 % 0:35 left". Loss,
  // rate and wait are those since the previous line.
  std::string Line() const;

 private:
  void Draw(Clock::time_point now);

  std::FILE* out_;
  bool terminal_;
  bool on_screen_ = false;
  Clock::time_point next_{};
  StepReport last_;
  // Sums since the previous line.
  double losses_ = 0;
  uint64_t steps_ = 0;
  uint64_t rows_ = 0;
  std::chrono::nanoseconds wait_{}, compute_{};
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_PROGRESS_LINE_H_
