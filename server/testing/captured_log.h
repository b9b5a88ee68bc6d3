// What tests read of the log.
#ifndef PENSTOCK_SERVER_TESTING_CAPTURED_LOG_H_
#define PENSTOCK_SERVER_TESTING_CAPTURED_LOG_H_

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "spdlog/sinks/ostream_sink.h"
#include "spdlog/spdlog.h"

namespace penstock {

// What the program logs while it lives.
class CapturedLog {
 public:
  CapturedLog() : before_(spdlog::default_logger()) {
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_)));
  }
  ~CapturedLog() { spdlog::set_default_logger(before_); }

  // REQUIRES: nobody logs any more.
  std::vector<std::string> LinesWith(absl::string_view words) const {
    std::vector<std::string> lines = absl::StrSplit(text_.str(), '\n');
    std::erase_if(lines, [&](const auto& line) { return !absl::StrContains(line, words); });
    return lines;
  }

 private:
  std::ostringstream text_;
  const std::shared_ptr<spdlog::logger> before_;  // Shared with spdlog.
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_TESTING_CAPTURED_LOG_H_
