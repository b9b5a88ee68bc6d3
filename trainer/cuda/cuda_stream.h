// A CUDA stream for communicators.
#ifndef PENSTOCK_TRAINER_CUDA_CUDA_STREAM_H_
#define PENSTOCK_TRAINER_CUDA_CUDA_STREAM_H_

#include <string>

#include "absl/status/statusor.h"
#include "trainer/cuda/device_stream.h"

namespace penstock {

// Borrows a cudaStream_t of the calling thread's device. Not thread-safe.
class CudaStream final : public DeviceStream {
 public:
  explicit CudaStream(void* stream) : stream_(stream) {}
  ~CudaStream() override { EndGraph(); }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  void* handle() const override { return stream_; }
  absl::StatusOr<Memory> Allocate(Place place, size_t bytes) override;
  absl::Status Copy(uint8_t* to, const uint8_t* from, size_t bytes) override;
  absl::Status BeginCapture() override;
  absl::Status EndCapture() override;
  absl::Status LaunchGraph() override;
  void EndGraph() override;
  absl::StatusOr<bool> Done() override;

 private:
  void* stream_;
  void* graph_ = nullptr;  // A cudaGraphExec_t.
};

// UUID of the calling thread's device, "GPU-1b2c3d4e-...", as nvidia-smi -L prints it.
absl::StatusOr<std::string> CurrentGpuUuid();

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_CUDA_STREAM_H_
