// Hands pools of shared memory to the streams of clients on this machine, over a Unix socket.
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
  // Absolute path of the socket, at most 107 bytes. Only its owner may connect, or with `group` (a
  // name) that group too.
  std::string socket = {};
  std::string group = {};
  // Bytes of one stream's pool. The pool is small, so that parts are still in the cache when they
  // are read.
  size_t pool_bytes = size_t{4} << 20;
  // Maximum number of bytes of all pools together. Above it, a stream is served without a pool.
  size_t max_bytes = size_t{512} << 20;
  // A connection that has not sent its ticket after this time is closed.
  absl::Duration patience = absl::Seconds(2);
  size_t max_connections = 64;

  // kInvalidArgument: the message names the flag.
  absl::Status Validate() const;
};

// One thread answers every connection. The client sends its ticket in one message and receives "ok"
// with the pool's descriptor, or the reason for a refusal. docs/reference/protocol.md describes the
// exchange.
//
// A ticket is valid for one connection. At most max_connections peers are served at a time, and a
// peer gets no pool without the ticket of a stream. Thread-safe.
class SharedMemoryDoor {
 public:
  // A stream's right to a pool. When it is destroyed, its ticket becomes invalid. Thread-safe.
  class Lease {
   public:
    ~Lease();
    const std::string& ticket() const { return ticket_; }
    // The pool, once a client has fetched it; null before that.
    std::shared_ptr<SharedPool> pool() const;

   private:
    friend class SharedMemoryDoor;
    Lease(SharedMemoryDoor& door, std::string ticket) : door_(door), ticket_(std::move(ticket)) {}

    SharedMemoryDoor& door_;
    const std::string ticket_;
  };

  // Makes the socket and starts the thread. Replaces the socket of a process that is gone.
  // kInvalidArgument: an option is wrong. kUnavailable: another process listens there. The other
  // errors say why the socket could not be made, or why no thread could be started.
  static absl::StatusOr<std::unique_ptr<SharedMemoryDoor>> Open(SharedMemoryDoorOptions options);
  // REQUIRES: no lease is left. Pools may be left. Removes the socket unless another server has
  // replaced it.
  ~SharedMemoryDoor();

  const std::string& socket() const { return options_.socket; }
  std::unique_ptr<Lease> MakeLease();
  // Bytes of all current pools.
  size_t pool_bytes() const { return bytes_->load(); }

 private:
  class Connections;

  SharedMemoryDoor(SharedMemoryDoorOptions options, UniqueFd listener, UniqueFd wake);
  void Run();
  // Whether the socket's file is still ours. While the listener is open, no other file gets its
  // inode.
  bool IsOurs() const;
  // Returns a pool for the client that sent `ticket`. The ticket cannot be used again.
  absl::StatusOr<std::shared_ptr<SharedPool>> Redeem(absl::string_view ticket);
  absl::StatusOr<std::shared_ptr<SharedPool>> MakePool();

  const SharedMemoryDoorOptions options_;
  const UniqueFd listener_;
  const FileStamp bound_;  // The file to which the listener was bound.
  const UniqueFd wake_;    // An eventfd. Writing to it ends the thread.
  // Shared with the pools, which may outlive the door.
  const std::shared_ptr<std::atomic<size_t>> bytes_ = std::make_shared<std::atomic<size_t>>(0);

  mutable Mutex mutex_;
  struct Ticket {
    bool used = false;
    std::shared_ptr<SharedPool> pool;  // Shared with the stream's session.
  };
  std::map<std::string, Ticket, std::less<>> tickets_ ABSL_GUARDED_BY(mutex_);

  std::jthread thread_;  // Last member: it uses all of the above.
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_SHARED_MEMORY_DOOR_H_
