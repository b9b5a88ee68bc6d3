// Fetches a stream's pool from the server's shared-memory socket.
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

// Connects to `socket`, sends `ticket` and maps the memory that it receives, on a thread of its
// own. The destructor ends this early; if `done` is running, it waits until `done` has returned.
// Thread-compatible.
class SharedMemoryRequest {
 public:
  // Receives the mapping, or the reason why there is none. Called once: on the request's thread or,
  // if no thread could be started, by the constructor.
  using Done = std::function<void(absl::StatusOr<std::shared_ptr<const SharedMapping>>)>;

  SharedMemoryRequest(std::string socket, std::string ticket, Done done);
  ~SharedMemoryRequest();

 private:
  absl::StatusOr<std::shared_ptr<const SharedMapping>> Fetch() const;
  // Waits for the server's answer.
  absl::Status WaitFor(int connection) const;

  const std::string socket_;
  const std::string ticket_;
  const Done done_;
  UniqueFd stop_;        // An eventfd. Writing to it ends the request.
  std::jthread thread_;  // Last member: it uses all of the above.
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_SHM_SHARED_MEMORY_REQUEST_H_
