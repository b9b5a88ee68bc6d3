// One client's stream: translates between gRPC and a session.
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

// Notified on a gRPC thread when a stream has ended. The stream calls nothing after this.
class StreamOwner {
 public:
  virtual void OnStreamDone(StreamReactor* stream) = 0;

 protected:
  ~StreamOwner() = default;
};

// Reads one message at a time and passes it to the session. Writes one message at a time from an
// outbox that the session fills. If a client sends without reading, its messages are not read while
// more than kMaxQueuedControl answers wait for it.
//
// Owns itself from its creation until OnDone(), which is gRPC's last call. Others that still hold
// it may call it afterwards, without effect. Thread-safe.
class StreamReactor final : public CallReactor,
                            public std::enable_shared_from_this<StreamReactor>,
                            private SessionEvents {
 public:
  static constexpr size_t kMaxQueuedControl = 1024;
  // All arguments must outlive it. `door` may be null.
  static StreamReactor* Create(SessionSource& source, StreamOwner& owner, OpenCall call,
                               Gate::Pass pass, SharedMemoryDoor* door, std::string peer);

  // Starts to read.
  void Start();
  void Drain(uint32_t grace_ms);
  // Ends the stream with `status`, and drops what waits to be sent. Must not be called from a
  // session's event.
  void End(const absl::Status& status);
  // Ends a stream that has been without a Hello for this long.
  void EndIfSilent(absl::Duration timeout);
  // Sends the credit again if nothing is being sent, and windows wait for memory, or requests for a
  // thread or the end of decoding. Otherwise the client would think that this server has stopped.
  // Call it every few seconds.
  void TellOfWait();
  v1::StreamStats stats() const;
  // Whether it was ended because of what the client sent. Valid in OnStreamDone().
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
  // Returns the message to write next, if a write may start. The caller passes it to Write().
  std::optional<Outbox::Item> TakeNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Write(Outbox::Item item);
  grpc::ByteBuffer MessageOf(PartBuffer part);
  wire::ServerHello MakeHello(uint32_t version, const ServerInfo& info);
  // Must not be called from a session's event: it may end in OnDone(), which waits for these
  // events.
  void FinishIfDue();
  // Returns the credit to repeat, if the client must be told that it waits. REQUIRES: there is a
  // session.
  std::optional<Credit> CreditToRepeat() ABSL_EXCLUSIVE_LOCKS_REQUIRED(session_mutex_);

  SessionSource& source_;
  StreamOwner& owner_;
  OpenCall call_;
  Gate::Pass pass_;
  SharedMemoryDoor* const door_;
  const std::string peer_;
  std::shared_ptr<StreamReactor> self_;

  const Clock::time_point started_ = Clock::now();

  // Only the read side uses it: OnReadDone(), and OnDone() after it.
  grpc::ByteBuffer incoming_;
  uint64_t incoming_bytes_ = 0;  // Size of the message that is being handled.
  std::atomic<bool> said_hello_{false};
  bool refused_ = false;
  // Set if the client's arrival was logged, so that later events are logged too.
  bool has_log_lines_ = false;

  DefinedWindows windows_;

  // Only the read side changes these, and holds this lock while it does. stats() holds it too.
  mutable Mutex session_mutex_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<SharedMemoryDoor::Lease> lease_;  // Kept until the client has mapped its pool.
  std::string client_;
  uint64_t credit_bytes_ = 0;
  // What the last call of CreditToRepeat() saw: num_events_ and SessionStats::finished_jobs.
  uint64_t seen_events_ = 0;
  uint64_t seen_jobs_ = 0;

  std::atomic<uint64_t> num_windows_{0};
  std::atomic<uint64_t> num_requests_{0};
  std::atomic<uint64_t> num_events_{0};  // Of the session.
  FailureLog failures_;

  // Only the write side uses it: the thread that set writing_.
  grpc::ByteBuffer outgoing_;
  std::atomic<uint64_t> num_rows_{0};
  std::atomic<uint64_t> num_parts_{0};
  std::atomic<uint64_t> num_bytes_{0};

  mutable Mutex mutex_;
  Outbox outbox_ ABSL_GUARDED_BY(mutex_);
  // Shared with the session's parts.
  std::shared_ptr<SharedPool> pool_ ABSL_GUARDED_BY(mutex_);
  // Parts that the client reads from the pool, keyed by offset. They are kept until its Ack.
  std::map<uint64_t, PartBuffer> lent_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  Clock::time_point write_start_ ABSL_GUARDED_BY(mutex_);  // Start time of the current write.
  // Total time of the writes that are done.
  Clock::duration write_wait_ ABSL_GUARDED_BY(mutex_){};
  int starting_reads_ ABSL_GUARDED_BY(mutex_) = 0;
  bool read_paused_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_STREAM_REACTOR_H_
