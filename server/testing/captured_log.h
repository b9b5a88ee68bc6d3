// Captures the log for tests.
#ifndef PENSTOCK_SERVER_TESTING_CAPTURED_LOG_H_
#define PENSTOCK_SERVER_TESTING_CAPTURED_LOG_H_

#include <chrono>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "server/log.h"
#include "server/log_limiter.h"
#include "spdlog/sinks/ostream_sink.h"
#include "spdlog/spdlog.h"

namespace penstock {

// Keeps the lines that the program logs during the lifetime of this object.
class CapturedLog {
 public:
  CapturedLog()
      : before_(ExchangeLogger(std::make_shared<spdlog::logger>(
            "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_)))) {}
  ~CapturedLog() { ExchangeLogger(before_); }

  // REQUIRES: no thread logs any more.
  std::vector<std::string> LinesWith(absl::string_view words) const {
    std::vector<std::string> lines = absl::StrSplit(text_.str(), '\n');
    std::erase_if(lines, [&](const auto& line) { return !absl::StrContains(line, words); });
    return lines;
  }
  // Maximum number of lines of one kind that LogLimiter lets through during the lifetime so far.
  size_t MostOfAKind() const { return 1 + (Clock::now() - begin_) / LogLimiter::kPause; }

 private:
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin_ = Clock::now();
  std::ostringstream text_;
  const std::shared_ptr<spdlog::logger> before_;  // Restored by the destructor.
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_TESTING_CAPTURED_LOG_H_
