#include "cli/feed/feed_requests.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/io/receive_descriptor.h"
#include "base/status.h"

namespace penstock::feed {
namespace {

bool IsKnown(ToFeed kind) { return kind >= ToFeed::kStart && kind <= ToFeed::kStats; }

}  // namespace

absl::StatusOr<bool> FeedRequests::Receive() {
  char bytes[16384];
  ssize_t size = -1;
  do {
    size = ReceiveWithDescriptor(socket_, bytes, 0, memory_);
  } while (size < 0 && errno == EINTR);
  if (size < 0 && errno != ECONNRESET) return ErrnoToStatus(errno, "the control socket");
  if (size <= 0) return false;
  bytes_.append(bytes, static_cast<size_t>(size));
  return true;
}

absl::StatusOr<std::optional<Request>> FeedRequests::Cut(size_t& at) {
  Request request;
  if (bytes_.size() - at < sizeof request.message) return std::nullopt;
  std::memcpy(&request.message, bytes_.data() + at, sizeof request.message);
  if (!IsKnown(request.message.kind)) {
    return absl::InvalidArgumentError(absl::StrCat("the control socket: a message of kind ",
                                                   static_cast<uint32_t>(request.message.kind)));
  }
  size_t end = at + sizeof request.message;
  if (request.message.kind == ToFeed::kStart) {
    if (request.message.value > kMaxStartBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("the control socket: a START with ", request.message.value,
                       " bytes of text; the limit is ", kMaxStartBytes));
    }
    if (bytes_.size() - end < request.message.value) return std::nullopt;
    request.text = bytes_.substr(end, request.message.value);
    request.memory = std::move(memory_);
    end += request.message.value;
  }
  at = end;
  return request;
}

absl::StatusOr<bool> FeedRequests::Next(std::vector<Request>& requests) {
  requests.clear();
  PENSTOCK_ASSIGN_OR_RETURN(const bool more, Receive());
  size_t at = 0;
  while (more) {
    PENSTOCK_ASSIGN_OR_RETURN(std::optional<Request> request, Cut(at));
    if (!request.has_value()) break;
    requests.push_back(*std::move(request));
  }
  bytes_.erase(0, at);
  return more;
}

}  // namespace penstock::feed
