// Streams whose queued work runs as late as the rules of streams and events allow, or in any order
// that they allow. Code that relies on more than these rules then gets wrong results.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_TESTING_LATE_STREAMS_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_TESTING_LATE_STREAMS_H_

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/counter_rng.h"
#include "trainer/backend/device/device.h"

namespace penstock {

// Not thread-safe.
class LateStreams {
 public:
  using Work = std::function<absl::Status()>;
  // Work of other libraries, which takes time: `start` is called when its turn comes, then `done`
  // until it returns true.
  struct LongWork {
    std::function<void()> start;
    std::function<bool()> done;
  };

  // Without a seed, work runs only when the host waits for it, or for work of another stream that
  // waits for it. With a seed, every call may first run work of any stream; the seed decides which.
  explicit LateStreams(std::optional<uint64_t> seed) {
    if (seed.has_value()) random_.emplace(*seed);
  }

  void Push(DeviceQueue queue, Work work);
  void PushLong(DeviceQueue queue, LongWork work);
  void Record(DeviceEvent event, DeviceQueue queue);
  void Wait(DeviceEvent event, DeviceQueue queue);
  // Runs all queued work and the work that it waits for. An error ends all streams.
  absl::Status Synchronize(DeviceQueue queue);
  // Runs the work up to the last record of the event.
  absl::Status Synchronize(DeviceEvent event);
  // Runs the part of that work that does not wait for long work, and returns whether the record is
  // reached.
  absl::StatusOr<bool> Done(DeviceEvent event);
  // The same for all queued work.
  absl::StatusOr<bool> Done(DeviceQueue queue);

 private:
  // Work, the `number`-th record of an event, or a wait for that record.
  struct Item {
    enum class Kind : uint8_t { kWork, kLongWork, kRecord, kWait } kind;
    Work work = nullptr;
    LongWork long_work = {};
    bool started = false;
    DeviceEvent event = 0;
    uint64_t number = 0;
  };
  std::deque<Item>& QueueOf(DeviceQueue queue) { return queues_[static_cast<size_t>(queue)]; }
  bool Has(const Item& item) const { return happened_[item.event] >= item.number; }
  void RunSome();
  // Returns false if the item, or work that it waits for, needs more time.
  bool RunFirst(std::deque<Item>& queue);
  // Runs until the `number`-th record of `event` is reached. Returns false like RunFirst().
  bool RunUntil(DeviceEvent event, uint64_t number);
  bool RunAll(std::deque<Item>& queue);

  std::array<std::deque<Item>, kDeviceQueues> queues_;
  std::array<uint64_t, kDeviceEvents> recorded_ = {}, happened_ = {};
  std::optional<CounterRng> random_;
  absl::Status status_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_TESTING_LATE_STREAMS_H_
