// The answer of an HTTP server with one page, /metrics, to a request.
#ifndef PENSTOCK_METRICS_HTTP_ANSWER_H_
#define PENSTOCK_METRICS_HTTP_ANSWER_H_

#include <functional>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

// Whether `bytes` hold a request line and the end of its headers.
bool IsWholeRequest(absl::string_view bytes);

// The status line, the headers and the body; `page` makes the body where the page is asked for. A
// request that is not whole is one that is too long. The connection ends with the answer.
std::string HttpAnswer(absl::string_view request, const std::function<std::string()>& page);

}  // namespace penstock

#endif  // PENSTOCK_METRICS_HTTP_ANSWER_H_
