// Requests on their way, and how many more may follow.
#ifndef PENSTOCK_CLIENT_FETCH_REQUEST_BOOK_H_
#define PENSTOCK_CLIENT_FETCH_REQUEST_BOOK_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/fetch/fetch_actions.h"
#include "client/fetch/numbered_table.h"
#include "client/fetch/server_table.h"
#include "client/fetch/window_table.h"

namespace penstock {

// Numbers requests, lists them by server in the order of asking, and counts their rows and bytes.
// It is told of new requests, received rows and ends; it answers whether a server has room for one
// more. It never changes a window's rows and sends nothing. Not thread-safe.
class RequestBook {
 public:
  // `servers` must outlive it. `max_bytes`: outstanding, over all servers.
  RequestBook(ServerTable& servers, uint64_t row_bytes, uint64_t max_bytes)
      : servers_(servers), row_bytes_(row_bytes), max_bytes_(max_bytes) {}

  // Each of so many servers gets an equal part. REQUIRES: num_servers > 0.
  void ShareAmong(size_t num_servers) { server_bytes_ = max_bytes_ / num_servers; }
  // Whether the server may be asked for so many rows more. It may always have one request.
  bool HasRoom(const ServerEntry& server, uint64_t rows) const;

  // A request for rows of an open window, to be linked once it has its ranges.
  RequestEntry& New(absl::Time now, WindowEntry& window, uint32_t rows);
  // It is the last that the server was asked for.
  void Link(ServerEntry& server, RequestEntry& request);
  // Null: there is no such request on this stream.
  RequestEntry* Find(uint64_t number, StreamId stream);
  // Whether the server was asked for the rows of a part and owes them. A null request is none of
  // this stream, or no longer: then it owes what was cancelled, once. kFailedPrecondition: it sends
  // what nobody asked for, or some rows twice.
  static absl::Status Check(ServerEntry& server, const RequestEntry* request, uint32_t first_row,
                            uint32_t rows);
  // Notes rows that came, which must be some of the request's that have not come yet, and appends
  // where they belong.
  static void Receive(absl::Time now, RequestEntry& request, uint32_t first_row, uint32_t rows,
                      std::vector<RowCopy>& copies);
  // It is answered, lost or cancelled: its number is not found again.
  void End(RequestEntry& request);

 private:
  ServerTable& servers_;
  const uint64_t row_bytes_;
  const uint64_t max_bytes_;
  uint64_t server_bytes_ = 0;       // Of each server.
  uint64_t outstanding_bytes_ = 0;  // Of all servers.
  NumberedTable<RequestEntry> requests_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_REQUEST_BOOK_H_
