// The way in which a client reaches one server: transports and their streams.
#ifndef PENSTOCK_CLIENT_TRANSPORT_TRANSPORT_H_
#define PENSTOCK_CLIENT_TRANSPORT_TRANSPORT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "records/engine/messages.h"
#include "records/engine/row_source.h"

namespace penstock {

// The bytes of a received part, still in the transport's memory. Its deleter returns it to the
// transport, which may recycle it. Thread-compatible.
class PartPayload {
 public:
  virtual size_t size() const = 0;
  // Copies bytes [offset, offset + out.size()) to `out`, past the caches. Call StreamingFence()
  // before another thread reads them. REQUIRES: the bytes are within size().
  virtual void CopyTo(size_t offset, std::span<uint8_t> out) const = 0;
  // CRC-32C of all its bytes.
  virtual uint32_t Crc32c() const = 0;
  // Gives the payload back. The caller must not use it again.
  virtual void Recycle() = 0;

 protected:
  ~PartPayload() = default;
};

struct PartPayloadRecycler {
  void operator()(PartPayload* payload) const { payload->Recycle(); }
};

// Rows [first_row, first_row + rows) of the answer to `request`: the tensors one after the other,
// each row-major [rows, ...]. The sizes come from the peer: check payload->size() before you copy.
struct ReceivedPart {
  uint64_t request = 0;
  uint32_t first_row = 0;
  uint32_t rows = 0;
  // Checksum of the payload as the server computed it. The receiver must verify it.
  std::optional<uint32_t> crc32c;
  std::unique_ptr<PartPayload, PartPayloadRecycler> payload;
  // May name rows outside the part: check them too.
  std::vector<ReplacedRow> replaced = {};
  std::vector<ImageNote> image_notes = {};
};

// The server offered shared memory. If the status is OK, parts come through it from now on.
// Otherwise it says why they travel inside the stream.
struct SharedMemoryResult {
  absl::Status status;
};

// The server uses fewer connections than would help. `why` says why no further one is used.
struct ConnectionGivenUp {
  absl::Status why;
};

// The last event, except for parts that are under way. The status is never OK. kUnavailable: the
// server went away.
struct StreamBroken {
  absl::Status status;
};

// Every event of a stream besides rows. ServerInfo is the server's Hello and comes first.
using StreamEvent = std::variant<ServerInfo, WindowReady, StreamError, Credit, Draining,
                                 SharedMemoryResult, ConnectionGivenUp, StreamBroken>;

// Receives the events of a stream. Called on the transport's threads, or inside Connect(). Must not
// wait for anything but short locks, and must not destroy the stream.
class StreamEvents {
 public:
  virtual ~StreamEvents() = default;
  // Never called twice at once for one stream, except for a SharedMemoryResult.
  virtual void OnEvent(StreamEvent event) = 0;
  // May be called several times at once, and during an event.
  virtual void OnPart(ReceivedPart part) = 0;
  // A transport that decodes in this process may deliver rows instead of parts if DecodesRows() is
  // true (SessionEvents). Like OnPart(), OnRows() may be called several times at once.
  virtual bool DecodesRows() const { return false; }
  virtual void OnRows(RowSource&) {}
};

// One conversation with one server. Messages sent before the server's ServerInfo wait for it;
// messages sent after StreamBroken are dropped. No call blocks. The destructor ends the
// conversation and returns when no event can follow. Thread-compatible.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void OpenWindow(const OpenWindow& window) = 0;
  virtual void Fetch(const Fetch& fetch) = 0;
  virtual void Cancel(uint64_t request) = 0;
  virtual void Release(uint64_t window) = 0;
};

// Makes streams to one server. Thread-safe.
class Transport {
 public:
  virtual ~Transport() = default;
  // The server's name in messages: "127.0.0.1:7070", "local:".
  virtual const std::string& address() const = 0;
  // Starts to connect and returns at once. The outcome arrives through `events`, which must outlive
  // the stream.
  virtual std::unique_ptr<Stream> Connect(const StreamOptions& options, StreamEvents& events) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_TRANSPORT_H_
