// A client that reads one page.
#ifndef PENSTOCK_METRICS_TESTING_HTTP_GET_H_
#define PENSTOCK_METRICS_TESTING_HTTP_GET_H_

#include <string>

#include "base/io/unique_fd.h"

namespace penstock {

// To 127.0.0.1:PORT (of `address`), from an address of this machine, patient for a minute; not
// valid when nobody listens there.
UniqueFd Connect(const std::string& address, const char* from = "127.0.0.1");

// False: the other side has closed.
bool Send(const UniqueFd& connection, const std::string& bytes);
// All that comes until the other side closes, or until nothing more has come for a minute.
std::string ReadToEnd(const UniqueFd& connection);

// The answer's status line, headers and body; empty when 127.0.0.1:PORT (of `address`) does not
// answer within a minute.
std::string HttpGet(const std::string& address, const std::string& path);

}  // namespace penstock

#endif  // PENSTOCK_METRICS_TESTING_HTTP_GET_H_
