// The server's log. Only log.cc and tests include spdlog, whose headers take 5 s to compile.
#ifndef PENSTOCK_SERVER_LOG_H_
#define PENSTOCK_SERVER_LOG_H_

#include <fmt/core.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace spdlog {
class logger;
}

namespace penstock {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Writes one line: `form` with its {} replaced by `values`. Thread-safe, also while the process
// ends.
void WriteLog(LogLevel level, fmt::string_view form, fmt::format_args values);

template <typename... T>
void LogDebug(fmt::format_string<T...> form, T&&... values) {
  WriteLog(LogLevel::kDebug, form, fmt::make_format_args(values...));
}
template <typename... T>
void LogInfo(fmt::format_string<T...> form, T&&... values) {
  WriteLog(LogLevel::kInfo, form, fmt::make_format_args(values...));
}
template <typename... T>
void LogWarning(fmt::format_string<T...> form, T&&... values) {
  WriteLog(LogLevel::kWarning, form, fmt::make_format_args(values...));
}
template <typename... T>
void LogError(fmt::format_string<T...> form, T&&... values) {
  WriteLog(LogLevel::kError, form, fmt::make_format_args(values...));
}

// Events are written as "client left peer=ipv4:10.0.0.1:5 client=\"rank 3\" bytes=7": words, then
// fields NAME=VALUE. The value is in Quoted() form if it may contain a space, a quote or text from
// others. Each event that an operator must know has one line. At level info no line is written per
// request.
enum class LogFormat {
  kText,  // 2026-11-21T15:54:15.220Z info client left peer=...
  kJson,  // {"time":"2026-...Z","level":"info","event":"client left","peer":"...","bytes":7}
};

// Returns `text` in quotes, with \" \\ and \n escaped, and "?" for everything else that is not
// printable ASCII.
std::string Quoted(absl::string_view text);

// Shortens `text` from others for a log line. If it has more than 512 bytes, the middle is left
// out, because a message has the path at its beginning and the cause at its end.
std::string Shortened(absl::string_view text);

// Returns one line without its line end and without control characters. A `message` that does not
// have the form above becomes one event unchanged.
std::string FormatLogLine(LogFormat format, std::chrono::system_clock::time_point time,
                          absl::string_view level, absl::string_view message);

// Sends lines to stderr in this format, from `level` on: debug, info, warn, error or off. Without
// this call they go to stderr in spdlog's format, from info on. Call it before any thread is
// started.
void SetUpLog(const std::string& level, LogFormat format);

// Replaces the logger and returns the previous one, for SetUpLog() and tests. Not thread-safe.
std::shared_ptr<spdlog::logger> ExchangeLogger(std::shared_ptr<spdlog::logger> logger);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_LOG_H_
