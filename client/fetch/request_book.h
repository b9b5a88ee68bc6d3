// Keeps the requests in flight, and decides how many more may follow.
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

// Numbers requests, lists them by server in the order in which they were sent, and counts their
// rows and bytes. It is told of new requests, received rows and ends. It answers whether a server
// has room for one more. It never changes a window's rows and sends nothing. Not thread-safe.
class RequestBook {
 public:
  // `servers` must outlive it. At most `max_bytes` may be outstanding, summed over all servers.
  RequestBook(ServerTable& servers, uint64_t row_bytes, uint64_t max_bytes)
      : servers_(servers), row_bytes_(row_bytes), max_bytes_(max_bytes) {}

  // Divides the bytes equally among this many servers. REQUIRES: num_servers > 0.
  void ShareAmong(size_t num_servers) { server_bytes_ = max_bytes_ / num_servers; }
  // Whether the server may be asked for this many more rows. It may always have one request.
  bool HasRoom(const ServerEntry& server, uint64_t rows) const;

  // Makes a request for rows of an open window. Link it once it has its ranges.
  RequestEntry& New(absl::Time now, WindowEntry& window, uint32_t rows);
  // Puts the request at the end of the server's list.
  void Link(ServerEntry& server, RequestEntry& request);
  // Returns null if there is no such request on this stream.
  RequestEntry* Find(uint64_t number, StreamId stream);
  // Checks that the server was asked for the rows of a part and still owes them. `request` is null
  // if the stream does not have that request, or no longer has it; then the server may send the
  // rows of cancelled requests, once. kFailedPrecondition: it sends rows that nobody asked for, or
  // some rows twice.
  static absl::Status Check(ServerEntry& server, const RequestEntry* request, uint32_t first_row,
                            uint32_t rows);
  // Notes that rows came, and appends where they belong. REQUIRES: they are rows of the request
  // that have not come yet.
  static void Receive(absl::Time now, RequestEntry& request, uint32_t first_row, uint32_t rows,
                      std::vector<RowCopy>& copies);
  // Ends a request that is answered, lost or cancelled. Its number cannot be found any more.
  void End(RequestEntry& request);

 private:
  ServerTable& servers_;
  const uint64_t row_bytes_;
  const uint64_t max_bytes_;
  uint64_t server_bytes_ = 0;       // Maximum number of outstanding bytes of one server.
  uint64_t outstanding_bytes_ = 0;  // Outstanding bytes, summed over all servers.
  NumberedTable<RequestEntry> requests_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_REQUEST_BOOK_H_
