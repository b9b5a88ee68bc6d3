// A device stream on host memory, for tests and for runs without a GPU.
#ifndef PENSTOCK_TRAINER_CUDA_TESTING_HOST_STREAM_H_
#define PENSTOCK_TRAINER_CUDA_TESTING_HOST_STREAM_H_

#include <cstring>

#include "trainer/cuda/device_stream.h"
#include "trainer/cuda/testing/fake_stream.h"

namespace penstock {

// Copies at once. The fake NCCL's work is done when the fake says so. Counts calls.
class HostStream final : public DeviceStream {
 public:
  void* handle() const override { return &stream_; }

  absl::StatusOr<Memory> Allocate(Place, size_t bytes) override {
    return Memory(new uint8_t[bytes](), [](uint8_t* memory) { delete[] memory; });
  }
  absl::Status Copy(uint8_t* to, const uint8_t* from, size_t bytes) override {
    copied_ += bytes;
    std::memmove(to, from, bytes);
    return absl::OkStatus();
  }
  absl::StatusOr<bool> Done() override { return stream_.pending.load() == 0; }

  size_t copied() const { return copied_; }

 private:
  mutable FakeStream stream_;
  size_t copied_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_TESTING_HOST_STREAM_H_
