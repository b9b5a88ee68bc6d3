#include "server/log.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/print_escaped.h"
#include "spdlog/formatter.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

namespace penstock {
namespace {

struct Field {
  std::string name;
  std::string value;
  bool quoted = false;
};

bool IsNameCharacter(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '-'; }

// Takes NAME= from the beginning of `text`.
std::optional<absl::string_view> TakeName(absl::string_view& text) {
  size_t end = 0;
  while (end < text.size() && IsNameCharacter(text[end])) ++end;
  if (end == 0 || end == text.size() || text[end] != '=') return std::nullopt;
  const absl::string_view name = text.substr(0, end);
  text.remove_prefix(end + 1);
  return name;
}

// Takes the value from the beginning of `text`: up to the next space outside of quotes.
void TakeValue(absl::string_view& text, Field& field) {
  field.quoted = !text.empty() && text[0] == '"';
  size_t at = field.quoted ? 1 : 0;
  for (; at < text.size() && text[at] != (field.quoted ? '"' : ' '); ++at) {
    const bool escaped = field.quoted && text[at] == '\\' && at + 1 < text.size();
    if (escaped) ++at;
    field.value.push_back(escaped && text[at] == 'n' ? '\n' : text[at]);
  }
  text.remove_prefix(std::min(at + field.quoted, text.size()));
}

struct Event {
  std::string words;
  std::vector<Field> fields;
};

Event Parse(absl::string_view message) {
  Event event;
  while (!message.empty()) {
    Field field;
    if (std::optional<absl::string_view> name = TakeName(message)) {
      field.name = std::string(*name);
      TakeValue(message, field);
      event.fields.push_back(std::move(field));
    } else {
      const size_t end = std::min(message.find(' '), message.size());
      absl::StrAppend(&event.words, event.words.empty() ? "" : " ", message.substr(0, end));
      message.remove_prefix(end);
    }
    if (!message.empty() && message[0] == ' ') message.remove_prefix(1);
  }
  return event;
}

nlohmann::ordered_json ToJson(const Field& field) {
  int64_t number = 0;
  if (!field.quoted && absl::SimpleAtoi(field.value, &number)) return number;
  return field.value;
}

std::string JsonLine(const std::string& time, absl::string_view level, absl::string_view message) {
  const Event event = Parse(message);
  nlohmann::ordered_json line = {
      {"time", time}, {"level", std::string(level)}, {"event", event.words}};
  for (const Field& field : event.fields) line[field.name] = ToJson(field);
  return line.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

class LineFormatter final : public spdlog::formatter {
 public:
  explicit LineFormatter(LogFormat format) : format_(format) {}

  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const auto level = spdlog::level::to_string_view(message.level);
    const std::string line = FormatLogLine(format_, message.time, {level.data(), level.size()},
                                           {message.payload.data(), message.payload.size()});
    out.append(line.data(), line.data() + line.size());
    out.push_back('\n');
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<LineFormatter>(format_);
  }

 private:
  const LogFormat format_;
};

// Never destroyed, because the last line may be written after spdlog's own loggers are destroyed.
std::shared_ptr<spdlog::logger>& Logger() {
  static auto& logger = *new auto(spdlog::stderr_logger_mt("penstock"));
  return logger;
}

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      break;
  }
  return spdlog::level::err;
}

}  // namespace

void WriteLog(LogLevel level, fmt::string_view form, fmt::format_args values) {
  spdlog::logger& logger = *Logger();
  if (logger.should_log(ToSpdlog(level))) logger.log(ToSpdlog(level), fmt::vformat(form, values));
}

std::string Quoted(absl::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (c == '\n') {
      quoted += "\\n";
    } else {
      quoted += absl::ascii_isprint(static_cast<unsigned char>(c)) ? c : '?';
    }
  }
  return quoted + '"';
}

std::string Shortened(absl::string_view text) {
  constexpr size_t kMost = 512;
  constexpr absl::string_view kGap = " ... ";
  if (text.size() <= kMost) return std::string(text);
  constexpr size_t kHalf = (kMost - kGap.size()) / 2;
  return absl::StrCat(text.substr(0, kHalf), kGap, text.substr(text.size() - kHalf));
}

std::string FormatLogLine(LogFormat format, std::chrono::system_clock::time_point time,
                          absl::string_view level, absl::string_view message) {
  const std::string when =
      absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromChrono(time), absl::UTCTimeZone());
  if (format == LogFormat::kJson) return JsonLine(when, level, message);
  return absl::StrCat(when, " ", level, " ", Escaped(message));
}

void SetUpLog(const std::string& level, LogFormat format) {
  auto logger = spdlog::stderr_logger_mt("penstock-server");
  logger->set_formatter(std::make_unique<LineFormatter>(format));
  logger->flush_on(spdlog::level::trace);
  logger->set_level(spdlog::level::from_str(level == "error" ? "err" : level));
  ExchangeLogger(std::move(logger));
}

std::shared_ptr<spdlog::logger> ExchangeLogger(std::shared_ptr<spdlog::logger> logger) {
  return std::exchange(Logger(), std::move(logger));
}

}  // namespace penstock
