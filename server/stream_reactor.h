// One client's stream: a translation between gRPC and a session.
#ifndef PENSTOCK_SERVER_STREAM_REACTOR_H_
#define PENSTOCK_SERVER_STREAM_REACTOR_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "proto/pieces.pb.h"
#include "records/engine/session.h"
#include "records/wire/client_message.h"
#include "records/wire/server_message.h"
#include "server/call_reactor.h"
#include "server/defined_windows.h"
#include "server/failure_log.h"
#include "server/gate.h"
#include "server/outbox.h"
#include "server/session_source.h"
#include "server/shared_memory_door.h"

namespace penstock {

class StreamReactor;

// Told of a stream's end on a gRPC thread, as the last thing that happens to it.
class StreamOwner {
 public:
  virtual void OnStreamDone(StreamReactor* stream) = 0;

 protected:
  ~StreamOwner() = default;
};

// Reads one message at a time and hands it to the session; writes one message at a time from an
// outbox that the session fills. A client that sends without reading is not read on once
// kMaxQueuedControl answers wait for it.
//
// Owns itself from its creation until OnDone(), which is gRPC's last word; others who hold it may
// then still call it, without effect. Thread-safe.
class StreamReactor final : public CallReactor,
                            public std::enable_shared_from_this<StreamReactor>,
                            private SessionEvents {
 public:
  static constexpr size_t kMaxQueuedControl = 1024;
  // All outlive it; `door` may be null.
  static StreamReactor* Create(SessionSource& source, StreamOwner& owner, OpenCall call,
                               Gate::Pass pass, SharedMemoryDoor* door, std::string peer);

  // Starts to read.
  void Start();
  void Drain(uint32_t grace_ms);
  // Ends the stream with `status`; what waits to be sent is dropped. Not from a session's event.
  void End(const absl::Status& status);
  // Ends a stream that has been without a Hello for so long.
  void EndIfSilent(absl::Duration timeout);
  // Says the credit again where windows wait for memory and nothing else is on its way: so that the
  // client does not take this server for stopped.
  void TellIfStarved();
  v1::StreamStats stats() const;
  // Ended because of what the client said. Valid in OnStreamDone().
  bool refused() const { return refused_; }

 private:
  using Clock = std::chrono::steady_clock;

  StreamReactor(SessionSource& source, StreamOwner& owner, OpenCall call, Gate::Pass pass,
                SharedMemoryDoor* door, std::string peer);
  ~StreamReactor() override = default;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  void OnWindowReady(uint64_t window, uint64_t read_bytes) override;
  void OnPart(PartBuffer part) override;
  void OnError(StreamError error) override;

  absl::Status Handle(wire::ClientHello hello);
  absl::Status Handle(OpenWindow window);
  absl::Status Handle(Fetch fetch);
  absl::Status Handle(wire::Cancel cancel);
  absl::Status Handle(wire::Release release);
  absl::Status Handle(wire::Ack ack);
  absl::Status Handle(wire::SharedMemoryMapped mapped);
  absl::Status HandleIncoming();
  absl::Status CheckRoots(const OpenWindow& window) const;
  void TellOfRefusal(const absl::Status& status) const;
  void TellOfArrival();
  void CloseSession();

  void Say(const wire::ServerMessage& message);
  void ReadOn();
  // What to write now, if a write may start; the caller passes it to Write().
  std::optional<Outbox::Item> TakeNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Write(Outbox::Item item);
  grpc::ByteBuffer MessageOf(PartBuffer part);
  wire::ServerHello MakeHello(uint32_t version, const ServerInfo& info);
  // Never called from a session's event: it may end in OnDone(), which waits for those.
  void FinishIfDue();

  SessionSource& source_;
  StreamOwner& owner_;
  OpenCall call_;
  Gate::Pass pass_;
  SharedMemoryDoor* const door_;
  const std::string peer_;
  std::shared_ptr<StreamReactor> self_;

  const Clock::time_point started_ = Clock::now();

  // Of the read side: touched by OnReadDone() alone, and by OnDone() after it.
  grpc::ByteBuffer incoming_;
  uint64_t incoming_bytes_ = 0;  // Of the message that is being handled.
  std::atomic<bool> said_hello_{false};
  bool refused_ = false;
  bool has_log_lines_ = false;  // That it came was logged, so what follows from it is, too.

  DefinedWindows windows_;

  // Changed by the read side alone, which holds this lock while it does; stats() holds it too.
  mutable Mutex session_mutex_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<SharedMemoryDoor::Lease> lease_;  // Until the client has mapped its pool.
  std::string client_;
  uint64_t credit_bytes_ = 0;

  std::atomic<uint64_t> num_windows_{0};
  std::atomic<uint64_t> num_requests_{0};
  FailureLog failures_;

  // Of the write side: touched by whoever set writing_.
  grpc::ByteBuffer outgoing_;
  std::atomic<uint64_t> num_rows_{0};
  std::atomic<uint64_t> num_parts_{0};
  std::atomic<uint64_t> num_bytes_{0};

  mutable Mutex mutex_;
  Outbox outbox_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<SharedPool> pool_ ABSL_GUARDED_BY(mutex_);     // Shared with the session's parts.
  std::map<uint64_t, PartBuffer> lent_ ABSL_GUARDED_BY(mutex_);  // By offset, until its Ack.
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  Clock::time_point write_start_ ABSL_GUARDED_BY(mutex_);  // Of the write under way.
  Clock::duration write_wait_ ABSL_GUARDED_BY(mutex_){};   // Of those that are done.
  int starting_reads_ ABSL_GUARDED_BY(mutex_) = 0;
  bool read_paused_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_STREAM_REACTOR_H_
