// Streams of queued work that runs as late as the rules of streams and events allow, or in any
// order that they allow: so that whoever relies on more than these rules gets what is wrong.
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
  // Of others, who take their time: `start` is called when it is its turn, and then `done` until
  // it says yes, which is when it has happened.
  struct LongWork {
    std::function<void()> start;
    std::function<bool()> done;
  };

  // Without a seed nothing runs before the host waits for it, and of other streams only what that
  // work waits for. With one, every call may first run work of any stream: which, the seed says.
  explicit LateStreams(std::optional<uint64_t> seed) {
    if (seed.has_value()) random_.emplace(*seed);
  }

  void Push(DeviceQueue queue, Work work);
  void PushLong(DeviceQueue queue, LongWork work);
  void Record(DeviceEvent event, DeviceQueue queue);
  void Wait(DeviceEvent event, DeviceQueue queue);
  // Runs what is queued, and what that waits for. An error ends all streams.
  absl::Status Synchronize(DeviceQueue queue);
  // As far as what was last recorded.
  absl::Status Synchronize(DeviceEvent event);
  // Runs as much of that as does not wait for others: whether it has happened.
  absl::StatusOr<bool> Done(DeviceEvent event);
  // The same of all that is queued.
  absl::StatusOr<bool> Done(DeviceQueue queue);

 private:
  // Work, or the `number`-th record of an event, or waiting for that.
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
  // False: it, or what it waits for, takes its time.
  bool RunFirst(std::deque<Item>& queue);
  // Until the `number`-th record of `event` has happened; false as RunFirst().
  bool RunUntil(DeviceEvent event, uint64_t number);
  bool RunAll(std::deque<Item>& queue);

  std::array<std::deque<Item>, kDeviceQueues> queues_;
  std::array<uint64_t, kDeviceEvents> recorded_ = {}, happened_ = {};
  std::optional<CounterRng> random_;
  absl::Status status_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_TESTING_LATE_STREAMS_H_
