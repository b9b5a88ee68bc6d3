#include "trainer/app/progress_line.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/print_escaped.h"
#include "base/text.h"

namespace penstock {
namespace {

constexpr int kCells = 20;

std::string Bar(double share) {
  const auto filled = static_cast<size_t>(share * kCells);
  return absl::StrCat(" [", std::string(filled, '#'), std::string(kCells - filled, '.'), "]");
}

}  // namespace

void ProgressLine::Add(const StepReport& report, Clock::time_point now) {
  last_ = report;
  losses_ += report.loss;
  ++steps_;
  rows_ += report.rows;
  wait_ += report.wait;
  compute_ += report.compute;
  const bool first = next_ == Clock::time_point{};
  const bool last = report.step == report.total_steps;
  if (first && !terminal_) next_ = now + std::chrono::seconds(10);
  if (now >= next_ || last) Draw(now);
}

std::string ProgressLine::Line() const {
  const double seconds = std::chrono::duration<double>(wait_ + compute_).count();
  const double wait = std::chrono::duration<double>(wait_).count();
  std::string line = absl::StrCat("step ", last_.step);
  if (last_.total_steps > 0) {
    absl::StrAppend(&line, "/", last_.total_steps);
    if (terminal_) {
      absl::StrAppend(
          &line, Bar(static_cast<double>(last_.step) / static_cast<double>(last_.total_steps)));
    }
  }
  if (steps_ == 0 || seconds <= 0) return line;
  absl::StrAppendFormat(
      &line, " loss %.4f %s/s input wait %.1f %%", losses_ / static_cast<double>(steps_),
      Grouped(static_cast<uint64_t>(static_cast<double>(rows_) / seconds)), 100 * wait / seconds);
  if (last_.total_steps > last_.step) {
    const auto left = static_cast<double>(last_.total_steps - last_.step);
    absl::StrAppend(&line, " ", ClockText(left * seconds / static_cast<double>(steps_)), " left");
  }
  return line;
}

void ProgressLine::Draw(Clock::time_point now) {
  // On a terminal, erases the rest of a longer previous line.
  if (terminal_) {
    PrintEscaped(out_, "\r%s\x1b[K", Line());
  } else {
    PrintEscaped(out_, "%s\n", Line());
  }
  std::fflush(out_);
  on_screen_ = terminal_;
  next_ = now + (terminal_ ? std::chrono::milliseconds(100) : std::chrono::seconds(10));
  losses_ = 0;
  steps_ = rows_ = 0;
  wait_ = compute_ = {};
}

void ProgressLine::Clear() {
  if (on_screen_) PrintEscaped(out_, "\r\x1b[K");
  on_screen_ = false;
}

}  // namespace penstock
