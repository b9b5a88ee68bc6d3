// Hands each stream of this machine a pool of shared memory, over a Unix socket.
#ifndef PENSTOCK_SERVER_SHARED_MEMORY_DOOR_H_
#define PENSTOCK_SERVER_SHARED_MEMORY_DOOR_H_

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/io/file_stamp.h"
#include "base/io/unique_fd.h"
#include "base/mutex.h"
#include "server/shared_pool.h"

namespace penstock {

struct SharedMemoryDoorOptions {
  // Absolute path of the socket, at most 107 bytes. The owner alone may connect, or with `group`
  // (a name) that group too.
  std::string socket = {};
  std::string group = {};
  // Of one stream's pool: of few parts, so that they are still in the cache when they are read.
  size_t pool_bytes = size_t{4} << 20;
  // Of all pools together; a stream that comes later is served without one.
  size_t max_bytes = size_t{512} << 20;
  // A connection that has not said its ticket by then is closed.
  absl::Duration patience = absl::Seconds(2);
  size_t max_connections = 64;

  // kInvalidArgument names the flag.
  absl::Status Validate() const;
};

// One thread of its own answers every connection: the client says its ticket in one message and
// hears "ok" with the pool's descriptor, or why not. docs/reference/protocol.md has the exchange. A
// ticket is good for one connection. A peer can make it do no more than max_connections at a time,
// and gets no pool without a ticket of a stream. Thread-safe.
class SharedMemoryDoor {
 public:
  // A stream's right to a pool. Its end makes the ticket worthless. Thread-safe.
  class Lease {
   public:
    ~Lease();
    const std::string& ticket() const { return ticket_; }
    // The pool, once a client has fetched it; null before.
    std::shared_ptr<SharedPool> pool() const;

   private:
    friend class SharedMemoryDoor;
    Lease(SharedMemoryDoor& door, std::string ticket) : door_(door), ticket_(std::move(ticket)) {}

    SharedMemoryDoor& door_;
    const std::string ticket_;
  };

  // kInvalidArgument: an option; kUnavailable: another process listens there; else why the socket
  // could not be made, or that there is no thread. What a process that is gone left behind is
  // replaced.
  static absl::StatusOr<std::unique_ptr<SharedMemoryDoor>> Open(SharedMemoryDoorOptions options);
  // REQUIRES: no lease is left. Pools may be. Removes the socket, unless another server has put its
  // own in its place.
  ~SharedMemoryDoor();

  const std::string& socket() const { return options_.socket; }
  std::unique_ptr<Lease> MakeLease();
  // Of the pools there are.
  size_t pool_bytes() const { return bytes_->load(); }

 private:
  class Connections;

  SharedMemoryDoor(SharedMemoryDoorOptions options, UniqueFd listener, UniqueFd wake);
  void Run();
  // While the listener is open nobody else gets the number of its file.
  bool IsOurs() const;
  // A pool for who says `ticket`, which is used up.
  absl::StatusOr<std::shared_ptr<SharedPool>> Redeem(absl::string_view ticket);
  absl::StatusOr<std::shared_ptr<SharedPool>> MakePool();

  const SharedMemoryDoorOptions options_;
  const UniqueFd listener_;
  const FileStamp bound_;  // Where the listener was bound.
  const UniqueFd wake_;    // An eventfd: written to, the thread ends.
  // Shared with the pools, which may outlive the door.
  const std::shared_ptr<std::atomic<size_t>> bytes_ = std::make_shared<std::atomic<size_t>>(0);

  mutable Mutex mutex_;
  struct Ticket {
    bool used = false;
    std::shared_ptr<SharedPool> pool;  // Shared with the stream's session.
  };
  std::map<std::string, Ticket, std::less<>> tickets_ ABSL_GUARDED_BY(mutex_);

  std::jthread thread_;  // Last: it uses all of the above.
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_SHARED_MEMORY_DOOR_H_
