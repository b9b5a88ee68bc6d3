// The device features that communicators need: memory, ordered copies, and completion checks.
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

  // The handle of the stream in the device's libraries: a cudaStream_t.
  virtual void* handle() const = 0;

  enum class Place : uint8_t { kDevice, kPinnedHost };
  using Memory = std::unique_ptr<uint8_t, std::function<void(uint8_t*)>>;
  // Memory must be freed before the stream is destroyed. kResourceExhausted: not enough memory; the
  // message has the requested size.
  virtual absl::StatusOr<Memory> Allocate(Place place, size_t bytes) = 0;

  // Queues a copy. Both addresses may be on the device or in pinned memory, and must stay valid
  // until the copy is done.
  virtual absl::Status Copy(uint8_t* to, const uint8_t* from, size_t bytes) = 0;

  // Between these calls, work queued on the stream becomes a graph and is not run. Only one graph
  // exists at a time.
  virtual absl::Status BeginCapture() = 0;
  virtual absl::Status EndCapture() = 0;
  virtual absl::Status LaunchGraph() = 0;
  // Destroys the graph, if there is one, and its references to other libraries.
  virtual void EndGraph() = 0;

  // Whether all queued work has finished. Returns an error if any of it failed.
  virtual absl::StatusOr<bool> Done() = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_DEVICE_STREAM_H_
