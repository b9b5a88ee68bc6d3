// Reads the consumer's requests.
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
  std::string text;  // Only in kStart.
  UniqueFd memory;   // Only in kStart; invalid if no descriptor came with it.
};

// Splits the bytes of a stream socket into requests. Thread-compatible.
class FeedRequests {
 public:
  explicit FeedRequests(int socket) : socket_(socket) {}

  // Receives once, and blocks if nothing has come. Sets `requests` to those that are now complete.
  // Returns false if the consumer has closed the socket. kInvalidArgument: it sent something that
  // is not a request.
  absl::StatusOr<bool> Next(std::vector<Request>& requests);

 private:
  // Returns false at the end of the stream.
  absl::StatusOr<bool> Receive();
  // Returns the request that begins at byte `at`, and moves `at` behind it. Returns nullopt if more
  // bytes are needed.
  absl::StatusOr<std::optional<Request>> Cut(size_t& at);

  const int socket_;
  std::string bytes_;  // Bytes received and not yet split into requests.
  UniqueFd memory_;    // The received memory, which belongs to the next kStart.
};

}  // namespace penstock::feed

#endif  // PENSTOCK_CLI_FEED_FEED_REQUESTS_H_
