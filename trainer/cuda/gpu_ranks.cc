#include "trainer/cuda/gpu_ranks.h"

#include <utility>

#include "base/status.h"
#include "trainer/cuda/connect_devices.h"
#include "trainer/cuda/cuda_stream.h"

namespace penstock {
namespace {

class GpuRanks final : public Communicator {
 public:
  static absl::StatusOr<std::unique_ptr<Communicator>> Connect(RankGroup& group, void* stream,
                                                               DeviceOptions options) {
    std::unique_ptr<GpuRanks> ranks(new GpuRanks(stream));
    PENSTOCK_ASSIGN_OR_RETURN(options.gpu, CurrentGpuUuid());
    PENSTOCK_ASSIGN_OR_RETURN(ranks->inner_, ConnectDevices(group, ranks->stream_, options));
    return ranks;
  }

  size_t rank() const override { return inner_->rank(); }
  size_t size() const override { return inner_->size(); }
  Memory memory() const override { return inner_->memory(); }
  void Mark(uint64_t step, uint32_t bucket) override { inner_->Mark(step, bucket); }
  absl::Status Exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override {
    return inner_->Exchange(out, in);
  }
  bool CanQueue() const override { return inner_->CanQueue(); }
  absl::Status Queue(std::span<const Outgoing> out, std::span<const Incoming> in) override {
    return inner_->Queue(out, in);
  }
  absl::Status AwaitQueued(absl::FunctionRef<absl::StatusOr<Queued>()> look) override {
    return inner_->AwaitQueued(look);
  }
  void Abandon(const absl::Status& why) override { inner_->Abandon(why); }
  absl::Status Barrier() override { return inner_->Barrier(); }

 private:
  explicit GpuRanks(void* stream) : stream_(stream) {}

  CudaStream stream_;
  std::unique_ptr<Communicator> inner_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> ConnectGpus(RankGroup& group, Device& device,
                                                          DeviceOptions options) {
  if (group.store() == nullptr) return nullptr;
  return GpuRanks::Connect(group, device.StreamOf(DeviceQueue::kExchange), std::move(options));
}

}  // namespace penstock
