// Fetches a stream's pool from the server's door.
#ifndef PENSTOCK_CLIENT_TRANSPORT_SHM_SHARED_MEMORY_REQUEST_H_
#define PENSTOCK_CLIENT_TRANSPORT_SHM_SHARED_MEMORY_REQUEST_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "base/io/unique_fd.h"
#include "client/transport/shm/shared_mapping.h"

namespace penstock {

// Connects to `socket`, says `ticket` and maps what comes, on a thread of its own. The destructor
// ends it early and returns when `done` has, if it was called at all. Thread-compatible.
class SharedMemoryRequest {
 public:
  // Called once, on the request's thread or, if there is none to be had, by the constructor: the
  // mapping, or why there is none.
  using Done = std::function<void(absl::StatusOr<std::shared_ptr<const SharedMapping>>)>;

  SharedMemoryRequest(std::string socket, std::string ticket, Done done);
  ~SharedMemoryRequest();

 private:
  absl::StatusOr<std::shared_ptr<const SharedMapping>> Fetch() const;
  // Waits until the door has said something.
  absl::Status WaitFor(int connection) const;

  const std::string socket_;
  const std::string ticket_;
  const Done done_;
  UniqueFd stop_;        // An eventfd: written to, the request ends.
  std::jthread thread_;  // Last: it uses all of the above.
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_SHM_SHARED_MEMORY_REQUEST_H_
