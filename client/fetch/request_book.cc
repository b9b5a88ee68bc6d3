#include "client/fetch/request_book.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

// A server allows 4,096 requests on a stream. Requests for small rows would reach that before the
// credit.
constexpr uint32_t kMaxRequests = 2048;

}  // namespace

bool RequestBook::HasRoom(const ServerEntry& server, uint64_t rows) const {
  if (server.outstanding_requests == 0) return true;
  const uint64_t bytes = rows * row_bytes_;
  const uint64_t limit = std::min(server.credit_bytes, server_bytes_);
  return server.outstanding_requests < kMaxRequests && server.outstanding_bytes + bytes <= limit &&
         outstanding_bytes_ + bytes <= max_bytes_;
}

RequestEntry& RequestBook::New(absl::Time now, WindowEntry& window, uint32_t rows) {
  RequestEntry& request = requests_.New();
  request.stream = *window.opened_on;
  request.window = &window;
  request.rows = request.rows_missing = rows;
  request.bytes = rows * row_bytes_;
  request.sent_at = request.active_at = now;
  window.asked = true;
  ++window.requests;
  return request;
}

void RequestBook::Link(ServerEntry& server, RequestEntry& request) {
  ++server.outstanding_requests;
  server.outstanding_bytes += request.bytes;
  outstanding_bytes_ += request.bytes;
  request.earlier = server.last_request;
  (request.earlier == nullptr ? server.first_request : request.earlier->later) = &request;
  server.last_request = &request;
}

RequestEntry* RequestBook::Find(uint64_t number, StreamId stream) {
  RequestEntry* request = requests_.Find(number);
  return request != nullptr && request->stream == stream ? request : nullptr;
}

absl::Status RequestBook::Check(ServerEntry& server, const RequestEntry* request,
                                uint32_t first_row, uint32_t rows) {
  if (rows == 0) return absl::FailedPreconditionError("sent a part without rows");
  if (request == nullptr) {
    if (rows > server.cancelled_rows) {
      return absl::FailedPreconditionError(absl::StrCat(
          "sent ", rows, " rows for an unknown request, or for one that it has answered in full"));
    }
    server.cancelled_rows -= rows;
    return absl::OkStatus();
  }
  const bool within = first_row < request->rows && rows <= request->rows - first_row;
  if (within && !request->received.Overlaps(first_row, rows)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "sent rows [", first_row, ", ", uint64_t{first_row} + rows, ") of a request for ",
      request->rows, " rows", within ? ", some of them twice" : ""));
}

void RequestBook::Receive(absl::Time now, RequestEntry& request, uint32_t first_row, uint32_t rows,
                          std::vector<RowCopy>& copies) {
  request.received.Add(first_row, rows);
  request.active_at = now;
  for (const Range& range : request.RangesFrom(first_row)) {
    if (range.at >= first_row + rows) break;
    const uint32_t begin = std::max(range.at, first_row);
    const uint32_t end = std::min(range.at + range.rows, first_row + rows);
    copies.push_back(
        {begin - first_row, end - begin, range.slot, range.slot_row + begin - range.at});
  }
  request.rows_missing -= rows;
}

void RequestBook::End(RequestEntry& request) {
  ServerEntry& server = servers_[request.stream.server];
  if (server.probe == &request) server.probe = nullptr;
  --server.outstanding_requests;
  server.outstanding_bytes -= request.bytes;
  outstanding_bytes_ -= request.bytes;
  (request.earlier == nullptr ? server.first_request : request.earlier->later) = request.later;
  (request.later == nullptr ? server.last_request : request.later->earlier) = request.earlier;
  --request.window->requests;
  requests_.Free(request);
}

}  // namespace penstock
