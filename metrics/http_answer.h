// Answers a request as an HTTP server with one page, /metrics.
#ifndef PENSTOCK_METRICS_HTTP_ANSWER_H_
#define PENSTOCK_METRICS_HTTP_ANSWER_H_

#include <functional>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

// Whether `bytes` contain a request line and the end of its headers.
bool IsWholeRequest(absl::string_view bytes);

// Returns the status line, the headers and the body. Calls `page` for the body only if the request
// asks for the page. A request that is not whole counts as too long. The answer says that the
// connection closes after it.
std::string HttpAnswer(absl::string_view request, const std::function<std::string()>& page);

}  // namespace penstock

#endif  // PENSTOCK_METRICS_HTTP_ANSWER_H_
