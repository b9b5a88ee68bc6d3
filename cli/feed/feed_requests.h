// Reads what the consumer asks for.
#ifndef PENSTOCK_CLI_FEED_FEED_REQUESTS_H_
#define PENSTOCK_CLI_FEED_FEED_REQUESTS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/io/unique_fd.h"
#include "cli/feed/feed_protocol.h"

namespace penstock::feed {

struct Request {
  RequestMessage message;
  std::string text;  // Of kStart.
  UniqueFd memory;   // Of kStart; invalid: none came with it.
};

// Cuts the bytes of a stream socket into requests. Thread-compatible.
class FeedRequests {
 public:
  explicit FeedRequests(int socket) : socket_(socket) {}

  // Receives once, which blocks if nothing has come, and fills `requests` with those that are now
  // complete. False: the consumer has closed the socket. kInvalidArgument: it sent what is no
  // request.
  absl::StatusOr<bool> Next(std::vector<Request>& requests);

 private:
  // False at the end of the stream.
  absl::StatusOr<bool> Receive();
  // Cuts the request that begins at byte `at`, and moves `at` behind it. None: more bytes are
  // needed.
  absl::StatusOr<std::optional<Request>> Cut(size_t& at);

  const int socket_;
  std::string bytes_;  // Received, and not yet cut.
  UniqueFd memory_;    // Came, and belongs to the next kStart.
};

}  // namespace penstock::feed

#endif  // PENSTOCK_CLI_FEED_FEED_REQUESTS_H_
