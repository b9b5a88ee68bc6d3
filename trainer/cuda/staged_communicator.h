// Communicates between devices through a host communicator, so that several ranks can share a GPU.
#ifndef PENSTOCK_TRAINER_CUDA_STAGED_COMMUNICATOR_H_
#define PENSTOCK_TRAINER_CUDA_STAGED_COMMUNICATOR_H_

#include "absl/time/time.h"
#include "trainer/comm/communicator.h"
#include "trainer/cuda/device_stream.h"

namespace penstock {

// A communicator for device memory (kDevice). Its bytes go through pinned memory, which grows to
// the size of the largest exchange, and over `host`. Because both use host's exchanges, all ranks
// must call the two communicators in the same combined order. `host` and the stream must outlive
// this object. Not thread-safe.
class StagedCommunicator final : public Communicator {
 public:
  StagedCommunicator(Communicator& host, DeviceStream& stream,
                     absl::Duration timeout = absl::Minutes(10))
      : host_(host), stream_(stream), timeout_(timeout) {}

  size_t rank() const override { return host_.rank(); }
  size_t size() const override { return host_.size(); }
  Memory memory() const override { return Memory::kDevice; }
  void Mark(uint64_t step, uint32_t bucket) override { host_.Mark(step, bucket); }
  absl::Status Exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override;
  absl::Status Barrier() override;

 private:
  absl::Status RunExchange(std::span<const Outgoing> out, std::span<const Incoming> in);
  absl::Status Reserve(size_t bytes);
  absl::Status Copy(std::span<const uint8_t> from, uint8_t* to);
  absl::Status WaitForStream();

  Communicator& host_;
  DeviceStream& stream_;
  const absl::Duration timeout_;  // Time limit of work queued on the stream before an exchange.
  DeviceStream::Memory pinned_;
  size_t capacity_ = 0;
  absl::Status ended_;  // Set by an error, because copies may then still be in flight.
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_STAGED_COMMUNICATOR_H_
