// The format of the server's log lines.
#ifndef PENSTOCK_SERVER_LOG_FORMAT_H_
#define PENSTOCK_SERVER_LOG_FORMAT_H_

#include <chrono>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

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

// Sends lines of spdlog's default logger to stderr in this format, from `level` on: debug, info,
// warn, error or off. Call it before any thread is started.
void SetUpLog(const std::string& level, LogFormat format);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_LOG_FORMAT_H_
