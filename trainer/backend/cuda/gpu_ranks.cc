#include "trainer/backend/cuda/gpu_ranks.h"

#include <cuda_runtime_api.h>

#include <utility>

#include "records/base/status.h"
#include "trainer/comm/connect_devices.h"
#include "trainer/comm/cuda_status.h"
#include "trainer/comm/cuda_stream.h"

namespace penstock {
namespace {

class GpuRanks final : public Communicator {
 public:
  static absl::StatusOr<std::unique_ptr<Communicator>> Connect(RankGroup& group,
                                                               bool allow_shared_gpu,
                                                               const WaitOptions& waits) {
    std::unique_ptr<GpuRanks> ranks(new GpuRanks);
    PENSTOCK_RETURN_IF_ERROR(CudaStatus(
        cudaStreamCreateWithFlags(&ranks->handle_, cudaStreamNonBlocking), "CUDA: a stream"));
    ranks->stream_ = std::make_unique<CudaStream>(ranks->handle_);
    DeviceOptions options;
    PENSTOCK_ASSIGN_OR_RETURN(options.gpu, CurrentGpuUuid());
    options.allow_shared_gpu = allow_shared_gpu;
    options.waits = waits;
    PENSTOCK_ASSIGN_OR_RETURN(ranks->inner_, ConnectDevices(group, *ranks->stream_, options));
    return ranks;
  }
  ~GpuRanks() override {
    inner_.reset();
    stream_.reset();
    if (handle_ != nullptr) (void)cudaStreamDestroy(handle_);
  }

  size_t rank() const override { return inner_->rank(); }
  size_t size() const override { return inner_->size(); }
  Memory memory() const override { return inner_->memory(); }
  void Mark(uint64_t step, uint32_t bucket) override { inner_->Mark(step, bucket); }
  absl::Status Exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override {
    return inner_->Exchange(out, in);
  }
  absl::Status Barrier() override { return inner_->Barrier(); }

 private:
  GpuRanks() = default;

  cudaStream_t handle_ = nullptr;
  std::unique_ptr<DeviceStream> stream_;
  std::unique_ptr<Communicator> inner_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> ConnectGpus(RankGroup& group, bool allow_shared_gpu,
                                                          const WaitOptions& waits) {
  if (group.store() == nullptr) return nullptr;
  return GpuRanks::Connect(group, allow_shared_gpu, waits);
}

}  // namespace penstock
