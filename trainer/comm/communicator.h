// Moves bytes between the ranks of a training. No arithmetic happens here.
#ifndef PENSTOCK_TRAINER_COMM_COMMUNICATOR_H_
#define PENSTOCK_TRAINER_COMM_COMMUNICATOR_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock {

// All ranks call the same functions in the same order, with sizes that agree. Spans are borrowed
// until the call returns. An error ends the communicator: every later call returns it. A rank that
// ended, here or elsewhere, is kUnavailable and named; nothing waits for it.
//
// Not thread-safe.
class Communicator {
 public:
  struct Outgoing {
    size_t to;
    std::span<const uint8_t> bytes;
  };
  struct Incoming {
    size_t from;
    std::span<uint8_t> bytes;
  };

  virtual ~Communicator() = default;

  virtual size_t rank() const = 0;
  virtual size_t size() const = 0;

  // Where the bytes of all spans lie. What reads or writes them on the host needs kHost.
  enum class Memory : uint8_t { kHost, kDevice };
  virtual Memory memory() const { return Memory::kHost; }

  // What the exchanges from now on belong to: told to whoever waits for this rank for long.
  virtual void Mark(uint64_t step, uint32_t bucket) { (void)step, (void)bucket; }

  // What the others are built of: point-to-point messages, all under way at once. The n-th message
  // of one rank to another meets the n-th that the other expects of it, of the same size. A rank
  // may send to itself.
  virtual absl::Status Exchange(std::span<const Outgoing> out, std::span<const Incoming> in) = 0;

  absl::Status Send(size_t to, std::span<const uint8_t> bytes);
  absl::Status Receive(size_t from, std::span<uint8_t> bytes);

  // Whether Queue() works: exchanges can be work of a stream of their device, where what else is
  // queued there may be behind them, and a graph may have them captured.
  virtual bool CanQueue() const { return false; }
  // As Exchange(), but returns once it is queued: the memory is borrowed until the stream is done.
  virtual absl::Status Queue(std::span<const Outgoing> out, std::span<const Incoming> in);
  // What is queued, as its device tells.
  struct Queued {
    bool done = false;
    // The exchange that has begun last. Absent: none has, so that nothing waits for other ranks.
    struct Place {
      uint64_t step = 0;
      uint32_t bucket = 0;
      bool operator==(const Place&) const = default;
    };
    std::optional<Place> place = {};
  };
  // Until `look` says that what was queued is done; errors are those of Exchange() and of `look`.
  // Each new place is marked, and is progress. After an error nothing that was queued waits for
  // other ranks any longer, and what it received is garbage.
  virtual absl::Status AwaitQueued(absl::FunctionRef<absl::StatusOr<Queued>()> look);
  // Ends the communicator, so that nothing that was queued waits for other ranks any longer.
  // Graphs that captured exchanges must end before the communicator does.
  virtual void Abandon(const absl::Status& why) { (void)why; }
  // Exchanges do nothing now: since Mark() said so, and until it says otherwise.
  virtual bool IsSilent() const { return false; }

  // Returns once every rank has called it. One of kDevice brings memory of its own.
  virtual absl::Status Barrier();
  // Every rank's `bytes` become those of `root`.
  absl::Status Broadcast(size_t root, std::span<uint8_t> bytes);
  // parts[r] of every rank becomes parts[r] of rank r. REQUIRES: parts.size() == size().
  absl::Status AllGather(std::span<const std::span<uint8_t>> parts);
  // in[r] becomes out[rank()] of rank r. REQUIRES: both have size() entries.
  absl::Status AllToAll(std::span<const std::span<const uint8_t>> out,
                        std::span<const std::span<uint8_t>> in);
};

// One rank alone. Thread-compatible.
class SingleCommunicator final : public Communicator {
 public:
  size_t rank() const override { return 0; }
  size_t size() const override { return 1; }
  absl::Status Exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override;
};

// Copies what a rank sends to itself; the rest, in order, is what must travel.
// kInvalidArgument: a rank that there is not; messages to itself that do not fit.
absl::Status CopyOnHost(uint8_t* to, const uint8_t* from, size_t bytes);
struct Travelling {
  std::vector<Communicator::Outgoing> out;
  std::vector<Communicator::Incoming> in;
};
using CopyBytes = absl::FunctionRef<absl::Status(uint8_t* to, const uint8_t* from, size_t bytes)>;
absl::Status CopyOwn(size_t rank, size_t size, std::span<const Communicator::Outgoing> out,
                     std::span<const Communicator::Incoming> in, Travelling& travelling,
                     CopyBytes copy = CopyOnHost);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_COMMUNICATOR_H_
