// An HTTP client that reads one page.
#ifndef PENSTOCK_METRICS_TESTING_HTTP_GET_H_
#define PENSTOCK_METRICS_TESTING_HTTP_GET_H_

#include <string>

#include "base/io/unique_fd.h"

namespace penstock {

// Connects to 127.0.0.1:PORT, with the port of `address`, from the local address `from`. Its
// reads and writes time out after a minute. The descriptor is not valid if nobody listens there.
UniqueFd Connect(const std::string& address, const char* from = "127.0.0.1");

// Returns false if the other side has closed.
bool Send(const UniqueFd& connection, const std::string& bytes);
// Returns all bytes that arrive until the other side closes, or until none has come for a minute.
std::string ReadToEnd(const UniqueFd& connection);

// Returns the answer's status line, headers and body. Empty if 127.0.0.1:PORT, with the port of
// `address`, does not answer within a minute.
std::string HttpGet(const std::string& address, const std::string& path);

}  // namespace penstock

#endif  // PENSTOCK_METRICS_TESTING_HTTP_GET_H_
