// Feeds any bytes as a request: the answer is one HTTP answer, and the page is made only for GET
// and HEAD.
#include <cstdint>
#include <cstdlib>

#include "absl/strings/match.h"
#include "metrics/http_answer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view request(reinterpret_cast<const char*>(data), size);
  bool made = false;
  const std::string answer = penstock::HttpAnswer(request, [&made] {
    made = true;
    return std::string("page");
  });
  const bool reads = absl::StartsWith(request, "GET ") || absl::StartsWith(request, "HEAD ");
  if (!absl::StartsWith(answer, "HTTP/1.1 ") || !absl::StrContains(answer, "\r\n\r\n")) abort();
  if (made != absl::StartsWith(answer, "HTTP/1.1 200 OK\r\n") || (made && !reads)) abort();
  return 0;
}
