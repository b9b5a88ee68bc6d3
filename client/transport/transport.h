// How a client reaches one server.
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

// The bytes of a received part, still in the transport's memory. Released by returning it to its
// deleter, so that a transport may recycle it. Thread-compatible.
class PartPayload {
 public:
  virtual size_t size() const = 0;
  // Copies bytes [offset, offset + out.size()) to `out`, past the caches: call StreamingFence()
  // before another thread is told of them. REQUIRES: within size().
  virtual void CopyTo(size_t offset, std::span<uint8_t> out) const = 0;
  // CRC-32C of all its bytes.
  virtual uint32_t Crc32c() const = 0;
  // Gives the payload back; it is not used again by the caller.
  virtual void Recycle() = 0;

 protected:
  ~PartPayload() = default;
};

struct PartPayloadRecycler {
  void operator()(PartPayload* payload) const { payload->Recycle(); }
};

// Rows [first_row, first_row + rows) of the answer to `request`: the tensors one after the other,
// each row-major [rows, ...]. Sizes come from the peer: check payload->size() before copying.
struct ReceivedPart {
  uint64_t request = 0;
  uint32_t first_row = 0;
  uint32_t rows = 0;
  std::optional<uint32_t> crc32c;  // Of the payload as the server decoded it; to be verified.
  std::unique_ptr<PartPayload, PartPayloadRecycler> payload;
  // Rows beyond the part: check them too.
  std::vector<ReplacedRow> replaced = {};
  std::vector<ImageNote> image_notes = {};
};

// The server offered shared memory. OK: parts come through it from now on; otherwise why they
// travel inside the stream.
struct SharedMemoryResult {
  absl::Status status;
};

// The server is asked over fewer connections than would help: why a further one is done without.
struct ConnectionGivenUp {
  absl::Status why;
};

// The last event but for parts that are under way. Never OK: kUnavailable when the server went
// away.
struct StreamBroken {
  absl::Status status;
};

// Everything that a stream tells besides rows. ServerInfo is the server's Hello and comes first.
using StreamEvent = std::variant<ServerInfo, WindowReady, StreamError, Credit, Draining,
                                 SharedMemoryResult, ConnectionGivenUp, StreamBroken>;

// Who hears a stream. Called on the transport's threads, or inside Connect(); must not wait for
// anything but short locks and must not destroy the stream.
class StreamEvents {
 public:
  virtual ~StreamEvents() = default;
  // Never two at once for one stream, but for a SharedMemoryResult.
  virtual void OnEvent(StreamEvent event) = 0;
  // May come several times at once, and beside an event.
  virtual void OnPart(ReceivedPart part) = 0;
  // A transport that decodes in this process may bring rows instead of parts where DecodesRows(),
  // as SessionEvents have it; like OnPart(), several times at once.
  virtual bool DecodesRows() const { return false; }
  virtual void OnRows(RowSource&) {}
};

// One conversation with one server. What is sent before its ServerInfo waits for it; what is sent
// after StreamBroken is dropped. No call blocks. The destructor ends the conversation and returns
// when no event can follow. Thread-compatible.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void OpenWindow(const OpenWindow& window) = 0;
  virtual void Fetch(const Fetch& fetch) = 0;
  virtual void Cancel(uint64_t request) = 0;
  virtual void Release(uint64_t window) = 0;
};

// A way to one server. Thread-safe.
class Transport {
 public:
  virtual ~Transport() = default;
  // For messages: "127.0.0.1:7070", "local:".
  virtual const std::string& address() const = 0;
  // Starts to connect at once; the outcome arrives through `events`, which must outlive the
  // stream.
  virtual std::unique_ptr<Stream> Connect(const StreamOptions& options, StreamEvents& events) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_TRANSPORT_H_
