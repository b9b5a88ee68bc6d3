#include "metrics/http_answer.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace penstock {
namespace {

constexpr char kPageType[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr char kPlainType[] = "text/plain; charset=utf-8";

std::string Answer(absl::string_view status, absl::string_view type, absl::string_view body,
                   absl::string_view more_headers = "") {
  return absl::StrCat("HTTP/1.1 ", status, "\r\nContent-Type: ", type,
                      "\r\nContent-Length: ", body.size(), "\r\n", more_headers,
                      "Connection: close\r\n\r\n", body);
}

std::string Refusal(absl::string_view status, absl::string_view more_headers = "") {
  return Answer(status, kPlainType, absl::StrCat(status, "\n"), more_headers);
}

// The answer to HEAD is the answer to GET without its body.
std::string WithoutBody(std::string answer) {
  answer.resize(answer.find("\r\n\r\n") + 4);
  return answer;
}

std::string AnswerTo(absl::string_view method, absl::string_view target,
                     const std::function<std::string()>& page) {
  if (target.substr(0, target.find('?')) != "/metrics") return Refusal("404 Not Found");
  if (method != "GET" && method != "HEAD") {
    return Refusal("405 Method Not Allowed", "Allow: GET, HEAD\r\n");
  }
  return Answer("200 OK", kPageType, page());
}

}  // namespace

// A line may end without a carriage return, as people type it.
bool IsWholeRequest(absl::string_view bytes) {
  return absl::StrContains(bytes, "\n\r\n") || absl::StrContains(bytes, "\n\n");
}

std::string HttpAnswer(absl::string_view request, const std::function<std::string()>& page) {
  if (!IsWholeRequest(request)) return Refusal("431 Request Header Fields Too Large");
  absl::string_view line = request.substr(0, request.find('\n'));
  if (absl::EndsWith(line, "\r")) line.remove_suffix(1);
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  if (words.size() != 3 || !absl::StartsWith(words[2], "HTTP/1."))
    return Refusal("400 Bad Request");
  std::string answer = AnswerTo(words[0], words[1], page);
  return words[0] == "HEAD" ? WithoutBody(std::move(answer)) : answer;
}

}  // namespace penstock
