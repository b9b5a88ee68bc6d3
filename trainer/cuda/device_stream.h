// What communicators need of a device: memory, copies in order, and to know when they are done.
#ifndef PENSTOCK_TRAINER_CUDA_DEVICE_STREAM_H_
#define PENSTOCK_TRAINER_CUDA_DEVICE_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock {

// One stream of one device: a queue of work that runs in order. Not thread-safe.
class DeviceStream {
 public:
  virtual ~DeviceStream() = default;

  // What the device's own libraries call it: a cudaStream_t.
  virtual void* handle() const = 0;

  enum class Place : uint8_t { kDevice, kPinnedHost };
  using Memory = std::unique_ptr<uint8_t, std::function<void(uint8_t*)>>;
  // Must be freed before the stream ends. kResourceExhausted: how much was asked.
  virtual absl::StatusOr<Memory> Allocate(Place place, size_t bytes) = 0;

  // Enqueues. Both may lie on the device or in pinned memory, and must stay until it is done.
  virtual absl::Status Copy(uint8_t* to, const uint8_t* from, size_t bytes) = 0;

  // Whether all that was enqueued has finished. An error of any of it is this one's.
  virtual absl::StatusOr<bool> Done() = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_DEVICE_STREAM_H_
