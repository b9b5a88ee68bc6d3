// One client's conversation with the engine: what it has defined, asked for and not yet received.
#ifndef PENSTOCK_RECORDS_ENGINE_SESSION_H_
#define PENSTOCK_RECORDS_ENGINE_SESSION_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "records/engine/messages.h"
#include "records/engine/part_buffer.h"
#include "records/engine/row_source.h"

namespace penstock {

// How answers reach the client. Called on the engine's threads, several at once; must not block,
// may call the session, and must not destroy it.
class SessionEvents {
 public:
  virtual ~SessionEvents() = default;
  virtual void OnWindowReady(uint64_t window, uint64_t read_bytes) = 0;
  // Rows [part.first_row, + part.rows) of an answer: the tensors one after the other, each
  // row-major [rows, ...]. The bytes count against the session's credit until `part` dies.
  virtual void OnPart(PartBuffer part) = 0;
  // Instead of OnPart() where DecodesRows(), which is asked once, unless rows are replaced: the
  // client decodes them inside the event, on this thread, straight to where it wants them. Takes no
  // memory of parts.
  virtual bool DecodesRows() const { return false; }
  virtual void OnRows(RowSource&) {}
  // Of a window: each of its requests, those to come included, gets an error of its own after
  // this one; the window may be released and its number used again. Of a request: it has ended.
  virtual void OnError(StreamError error) = 0;
};

// What a session has asked for and not received.
struct SessionStats {
  uint64_t windows = 0;           // Open.
  uint64_t starved_windows = 0;   // Of these: rows were asked for, and memory refused.
  uint64_t waiting_requests = 0;  // That have not ended.
  uint64_t waiting_bytes = 0;     // Of their rows that are not taken to be decoded.
  uint64_t part_bytes = 0;        // Of parts that have not returned.
};

// The server's reactor and the local transport both speak to this class, so neither knows how a
// window is loaded or a row decoded. Made by Engine::OpenSession(), which must outlive it.
//
// A status other than OK means that the client broke the protocol or a stated limit: the stream
// ends with it. What goes wrong with a window or a request arrives through OnError instead.
//
// The destructor cancels everything and returns when no event can follow. Parts may outlive it.
// Thread-safe.
class Session {
 public:
  virtual ~Session() = default;

  // kInvalidArgument: number in use, chunks out of range of their shards, counts that contradict
  // one another. kResourceExhausted: a limit of windows, chunks per window or bytes per chunk.
  virtual absl::Status OpenWindow(OpenWindow window) = 0;
  // kInvalidArgument: unknown window, rows beyond it or in two strips, number in use.
  // kResourceExhausted: a limit of requests, or the dtype makes a row larger than 3 MiB.
  virtual absl::Status Fetch(const Fetch& fetch) = 0;
  // Unknown requests are ignored: their answer may have crossed this message.
  virtual void Cancel(uint64_t request) = 0;
  // Ends its requests too. Unknown windows are ignored: one that failed may have made room for
  // others.
  virtual absl::Status Release(uint64_t window) = 0;
  // What a Hello answers to its client.
  virtual ServerInfo info() const { return {}; }
  virtual SessionStats stats() const { return {}; }
  // From now on parts are decoded into `memory`, which outlives them, and take no more than its
  // size; one that finds no room there goes into ordinary memory. At most once.
  virtual void UsePartMemory(std::shared_ptr<PartMemory> memory) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_SESSION_H_
