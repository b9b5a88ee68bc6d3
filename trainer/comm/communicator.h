// Moves bytes between the ranks of a training. Does no arithmetic.
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

// All ranks must call the same functions in the same order, with matching sizes. Spans are borrowed
// until the call returns. An error ends the communicator: every later call returns it. If a rank
// ended, here or elsewhere, the error is kUnavailable and names it; nothing waits for that rank.
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

  // The kind of memory that all spans lie in. Code that reads or writes them on the host needs
  // kHost.
  enum class Memory : uint8_t { kHost, kDevice };
  virtual Memory memory() const { return Memory::kHost; }

  // The step and bucket of the next exchanges, for reports of a rank that keeps others waiting.
  virtual void Mark(uint64_t step, uint32_t bucket) { (void)step, (void)bucket; }

  // Exchanges point-to-point messages, all in flight at once. The other operations are built on
  // this one. The n-th message from one rank to another matches the n-th that the other expects
  // from it, which must have the same size. A rank may send to itself.
  virtual absl::Status Exchange(std::span<const Outgoing> out, std::span<const Incoming> in) = 0;

  absl::Status Send(size_t to, std::span<const uint8_t> bytes);
  absl::Status Receive(size_t from, std::span<uint8_t> bytes);

  // Whether Queue() works. If so, exchanges can be queued on a stream of their device, later work
  // there may depend on them, and a graph may capture them.
  virtual bool CanQueue() const { return false; }
  // Like Exchange(), but returns once it is queued. The memory is borrowed until the stream is
  // done.
  virtual absl::Status Queue(std::span<const Outgoing> out, std::span<const Incoming> in);
  // The state of the queued work, as its device reports it.
  struct Queued {
    bool done = false;
    // The exchange that began last. If it is absent, none has begun, and nothing waits for other
    // ranks.
    struct Place {
      uint64_t step = 0;
      uint32_t bucket = 0;
      bool operator==(const Place&) const = default;
    };
    std::optional<Place> place = {};
  };
  // Waits until `look` reports that the queued work is done. Errors are those of Exchange() and of
  // `look`. Each new place is passed to Mark(), and counts as progress. After an error, no queued
  // work waits for other ranks any more, and received data is garbage.
  virtual absl::Status AwaitQueued(absl::FunctionRef<absl::StatusOr<Queued>()> look);
  // Ends the communicator, so that no queued work waits for other ranks any more. Graphs that
  // captured exchanges must be destroyed before the communicator.
  virtual void Abandon(const absl::Status& why) { (void)why; }
  // Whether exchanges currently do nothing. Only Mark() changes this.
  virtual bool IsSilent() const { return false; }

  // Returns once every rank has called it. A kDevice communicator uses its own memory for this.
  virtual absl::Status Barrier();
  // Copies the `bytes` of `root` to every rank.
  absl::Status Broadcast(size_t root, std::span<uint8_t> bytes);
  // Copies parts[r] of rank r to parts[r] of every rank. REQUIRES: parts.size() == size().
  absl::Status AllGather(std::span<const std::span<uint8_t>> parts);
  // Copies out[rank()] of rank r to in[r]. REQUIRES: both have size() entries.
  absl::Status AllToAll(std::span<const std::span<const uint8_t>> out,
                        std::span<const std::span<uint8_t>> in);
};

// A single rank. Thread-compatible.
class SingleCommunicator final : public Communicator {
 public:
  size_t rank() const override { return 0; }
  size_t size() const override { return 1; }
  absl::Status Exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override;
};

// CopyOwn() copies what a rank sends to itself. The remaining messages, in order, go to
// `travelling`. kInvalidArgument: no such rank, or messages to itself whose sizes differ.
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
