// One client's use of the engine: its definitions, its requests, and the answers to them.
#ifndef PENSTOCK_RECORDS_ENGINE_SESSION_H_
#define PENSTOCK_RECORDS_ENGINE_SESSION_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "records/engine/messages.h"
#include "records/engine/part_buffer.h"
#include "records/engine/row_source.h"

namespace penstock {

// Delivers answers to the client. The methods are called on the engine's threads, several at a
// time. They must not block. They may call the session, but must not destroy it.
class SessionEvents {
 public:
  virtual ~SessionEvents() = default;
  // The rows of the window need not wait for chunks any more. `read_bytes` is as in WindowReady.
  virtual void OnWindowReady(uint64_t window, uint64_t read_bytes) = 0;
  // Delivers rows [part.first_row, part.first_row + part.rows) of an answer: the tensors one after
  // the other, each row-major [rows, ...]. The bytes count against the session's credit until
  // `part` is destroyed.
  virtual void OnPart(PartBuffer part) = 0;
  // If DecodesRows() returns true, OnRows() is called instead of OnPart(), unless the session
  // replaces rows. DecodesRows() is called once. In OnRows(), the client decodes rows inside the
  // event, on this thread, directly to where it wants them. This takes no memory for parts.
  virtual bool DecodesRows() const { return false; }
  virtual void OnRows(RowSource&) {}
  // The error of a window comes first; then each of its requests, including later ones, gets its
  // own error. The window may be released and its number used again. After an error of a request,
  // the request has ended.
  virtual void OnError(StreamError error) = 0;
};

// The requests of a session, and the answers that it has not received yet.
struct SessionStats {
  uint64_t windows = 0;           // Open windows.
  uint64_t starved_windows = 0;   // Windows that were requested, but were refused memory.
  uint64_t waiting_requests = 0;  // Requests that have not ended.
  uint64_t waiting_bytes = 0;     // Bytes of requested rows that are not being decoded yet.
  uint64_t part_bytes = 0;        // Bytes of outstanding parts.
  bool queued = false;            // Its work waits for a thread, or a thread decodes for it.
  // About all sessions together: what threads decode now, and what they have done so far. If
  // nothing is decoded and the second number stays, all threads may be stuck in storage.
  uint64_t decoding_jobs = 0;
  uint64_t finished_jobs = 0;
};

// The server's reactor and the local transport both use this class, so neither needs to know how a
// window is loaded or a row is decoded. Created by Engine::OpenSession(). The engine must outlive
// it.
//
// A status other than OK means that the client broke the protocol or exceeded a documented limit,
// and ends the stream. Errors of a window or a request are delivered through OnError() instead.
//
// The destructor cancels everything, and returns when no further event can follow. Parts may
// outlive the session.
// Thread-safe.
class Session {
 public:
  virtual ~Session() = default;

  // kInvalidArgument: the number is in use, chunks are out of range of their shards, or counts
  // contradict each other.
  // kResourceExhausted: too many windows are open, or definitions take too much memory.
  // If the window has too many chunks, too large chunks, or does not fit into the budget, only the
  // window fails, through OnError().
  virtual absl::Status OpenWindow(OpenWindow window) = 0;
  // kInvalidArgument: the window is unknown, rows are beyond it or in two strips, the number is in
  // use, or the spec does not allow the dtype or makes a row larger than 3 MiB with it.
  // kResourceExhausted: too many requests are outstanding.
  virtual absl::Status Fetch(const Fetch& fetch) = 0;
  // Unknown requests are ignored, because their answer may have crossed this message.
  virtual void Cancel(uint64_t request) = 0;
  // Ends the window and its requests. Unknown windows are ignored, because a failed window may have
  // been removed to make room.
  virtual absl::Status Release(uint64_t window) = 0;
  // The facts that the server's Hello tells the client.
  virtual ServerInfo info() const { return {}; }
  virtual SessionStats stats() const { return {}; }
  // From this call on, parts are decoded into `memory`, which must outlive them, and outstanding
  // parts take at most its size. A part that does not fit into it is decoded into ordinary memory.
  // Call it at most once.
  virtual void UsePartMemory(std::shared_ptr<PartMemory> memory) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_SESSION_H_
