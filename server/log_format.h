// How the server's log lines look.
#ifndef PENSTOCK_SERVER_LOG_FORMAT_H_
#define PENSTOCK_SERVER_LOG_FORMAT_H_

#include <chrono>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

// Events are written as "client left peer=ipv4:10.0.0.1:5 client=\"rank 3\" bytes=7": words, then
// fields NAME=VALUE, the value in Quoted() form where it may hold a space, a quote or text of
// strangers. One line an event that an operator must know; none per request at level info.
enum class LogFormat {
  kText,  // 2026-11-21T15:54:15.220Z info client left peer=...
  kJson,  // {"time":"2026-...Z","level":"info","event":"client left","peer":"...","bytes":7}
};

// In quotes, with \" \\ and \n escaped and "?" for what else is not printable ASCII.
std::string Quoted(absl::string_view text);

// `text` of strangers for a log line: of more than 512 bytes the middle is left out, for a path
// comes before what is wrong with it.
std::string Shortened(absl::string_view text);

// One line without its end, and without control characters. A `message` that is not of the form
// above becomes one event as it is.
std::string FormatLogLine(LogFormat format, std::chrono::system_clock::time_point time,
                          absl::string_view level, absl::string_view message);

// Lines of spdlog's default logger go to stderr in this form, from `level` on: debug, info, warn,
// error or off. Call it before there are threads.
void SetUpLog(const std::string& level, LogFormat format);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_LOG_FORMAT_H_
