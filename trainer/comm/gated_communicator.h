// A communicator that stops exchanging, to measure the cost of communication.
#ifndef PENSTOCK_TRAINER_COMM_GATED_COMMUNICATOR_H_
#define PENSTOCK_TRAINER_COMM_GATED_COMMUNICATOR_H_

#include <memory>
#include <utility>

#include "trainer/comm/communicator.h"

namespace penstock {

// Forwards to `inner` until step `last` is marked. From then on it sends and receives nothing, not
// even messages to itself, and leaves the receive buffers unchanged. `inner` must outlive this
// object. Not thread-safe.
class GatedCommunicator final : public Communicator {
 public:
  GatedCommunicator(Communicator& inner, uint64_t last) : inner_(inner), last_(last) {}
  // Owns `inner`.
  GatedCommunicator(std::unique_ptr<Communicator> inner, uint64_t last)
      : owned_(std::move(inner)), inner_(*owned_), last_(last) {}
  uint64_t last() const { return last_; }

  size_t rank() const override { return inner_.rank(); }
  size_t size() const override { return inner_.size(); }
  Memory memory() const override { return inner_.memory(); }
  void Mark(uint64_t step, uint32_t bucket) override {
    open_ = step < last_;
    inner_.Mark(step, bucket);
  }
  absl::Status Exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override {
    return open_ ? inner_.Exchange(out, in) : absl::OkStatus();
  }
  bool CanQueue() const override { return inner_.CanQueue(); }
  absl::Status Queue(std::span<const Outgoing> out, std::span<const Incoming> in) override {
    return open_ ? inner_.Queue(out, in) : absl::OkStatus();
  }
  absl::Status AwaitQueued(absl::FunctionRef<absl::StatusOr<Queued>()> look) override {
    return inner_.AwaitQueued(look);
  }
  void Abandon(const absl::Status& why) override { inner_.Abandon(why); }
  bool IsSilent() const override { return !open_; }
  absl::Status Barrier() override { return open_ ? inner_.Barrier() : absl::OkStatus(); }

 private:
  const std::unique_ptr<Communicator> owned_;  // May be null.
  Communicator& inner_;
  const uint64_t last_;
  bool open_ = true;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_GATED_COMMUNICATOR_H_
