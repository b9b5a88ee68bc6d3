#include "cli/terminal/progress.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "base/byte_size.h"
#include "base/print_escaped.h"
#include "base/text.h"

namespace penstock {
namespace {

constexpr absl::Duration kBarInterval = absl::Milliseconds(100);
constexpr absl::Duration kLineInterval = absl::Seconds(10);
constexpr int kBarCells = 24;

std::string Bar(double share) {
  const int filled = static_cast<int>(share * kBarCells);
  return absl::StrCat("[", std::string(filled, '#'), std::string(kBarCells - filled, '.'), "]");
}

}  // namespace

bool ProgressOptions::IsTerminal() { return isatty(STDERR_FILENO) == 1; }

Progress::Progress(ProgressOptions options)
    : options_(std::move(options)),
      start_(options_.now()),
      next_draw_(start_ + (options_.terminal ? kBarInterval : kLineInterval)) {}

Progress::~Progress() { Finish(""); }

void Progress::Add(uint64_t done) {
  MutexLock lock(&mutex_);
  done_ += done;
  const absl::Time now = options_.now();
  if (finished_ || now < next_draw_) return;
  Draw(now);
  next_draw_ = now + (options_.terminal ? kBarInterval : kLineInterval);
}

void Progress::Finish(absl::string_view note) {
  MutexLock lock(&mutex_);
  if (finished_) return;
  finished_ = true;
  if (bar_on_screen_) PrintEscaped(options_.out, "\r\x1b[K");
  if (note.empty()) return;
  const absl::Duration elapsed = options_.now() - start_;
  const double seconds = std::max(1e-3, absl::ToDoubleSeconds(elapsed));
  PrintEscaped(options_.out, "%s: %s in %.1f s, %s/s; %s\n", options_.label,
               Amount(static_cast<double>(done_)), seconds,
               Amount(static_cast<double>(done_) / seconds), note);
}

void Progress::Draw(absl::Time now) {
  if (options_.terminal) {
    // Erases the rest of a longer previous line.
    PrintEscaped(options_.out, "\r%s\x1b[K", Line(now));
    bar_on_screen_ = true;
  } else {
    PrintEscaped(options_.out, "%s\n", Line(now));
  }
  std::fflush(options_.out);
}

std::string Progress::Line(absl::Time now) const {
  const double seconds = std::max(1e-3, absl::ToDoubleSeconds(now - start_));
  const double rate = static_cast<double>(done_) / seconds;
  if (options_.total == 0) {
    return absl::StrCat(options_.label, " ", Amount(static_cast<double>(done_)), ", ", Amount(rate),
                        "/s");
  }
  const double share = std::min(1.0, static_cast<double>(done_) / options_.total);
  std::string line = options_.label;
  if (options_.terminal) absl::StrAppend(&line, " ", Bar(share));
  absl::StrAppendFormat(&line, " %.0f%% of %s, %s/s", 100 * share,
                        Amount(static_cast<double>(options_.total)), Amount(rate));
  if (rate > 0 && share < 1) {
    const double left = (static_cast<double>(options_.total) - done_) / rate;
    absl::StrAppend(&line, ", ", ClockText(left), " left");
  }
  return line;
}

std::string Progress::Amount(double count) const {
  if (options_.unit == "bytes") return FormatByteSize(static_cast<uint64_t>(count));
  const uint64_t whole = static_cast<uint64_t>(count + 0.5);
  if (count < 10 && count != static_cast<double>(whole)) {
    return absl::StrFormat("%.1f %s", count, options_.unit);
  }
  return Counted(whole, absl::StripSuffix(options_.unit, "s"), options_.unit);
}

}  // namespace penstock
