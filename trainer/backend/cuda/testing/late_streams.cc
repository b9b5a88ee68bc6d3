#include "trainer/backend/cuda/testing/late_streams.h"

#include <algorithm>
#include <utility>

namespace penstock {

void LateStreams::Push(DeviceQueue queue, Work work) {
  RunSome();
  QueueOf(queue).push_back({.kind = Item::Kind::kWork, .work = std::move(work)});
}

void LateStreams::Record(DeviceEvent event, DeviceQueue queue) {
  RunSome();
  QueueOf(queue).push_back(
      {.kind = Item::Kind::kRecord, .event = event, .number = ++recorded_[event]});
}

void LateStreams::Wait(DeviceEvent event, DeviceQueue queue) {
  RunSome();
  QueueOf(queue).push_back({.kind = Item::Kind::kWait, .event = event, .number = recorded_[event]});
}

absl::Status LateStreams::Synchronize(DeviceQueue queue) {
  RunSome();
  RunAll(QueueOf(queue));
  return status_;
}

absl::Status LateStreams::Synchronize(DeviceEvent event) {
  RunSome();
  RunUntil(event, recorded_[event]);
  return status_;
}

void LateStreams::RunSome() {
  if (!random_.has_value()) return;
  std::deque<Item>& queue = queues_[random_->Below(kDeviceQueues)];
  for (uint64_t left = random_->Below(8); left > 0 && !queue.empty(); --left) {
    const Item& first = queue.front();
    if (first.kind == Item::Kind::kWait && !Has(first)) return;
    RunFirst(queue);
  }
}

void LateStreams::RunFirst(std::deque<Item>& queue) {
  if (queue.front().kind == Item::Kind::kWait) {
    RunUntil(queue.front().event, queue.front().number);
  }
  const Item item = std::move(queue.front());
  queue.pop_front();
  if (item.kind == Item::Kind::kRecord) {
    happened_[item.event] = std::max(happened_[item.event], item.number);
  } else if (item.kind == Item::Kind::kWork && status_.ok()) {
    status_ = item.work();
  }
}

void LateStreams::RunAll(std::deque<Item>& queue) {
  while (!queue.empty()) RunFirst(queue);
}

// Records come before what waits for them, in some queue: this ends.
void LateStreams::RunUntil(DeviceEvent event, uint64_t number) {
  for (std::deque<Item>& queue : queues_) {
    const bool here = std::any_of(queue.begin(), queue.end(), [&](const Item& item) {
      return item.kind == Item::Kind::kRecord && item.event == event && item.number == number;
    });
    while (here && happened_[event] < number) RunFirst(queue);
  }
}

}  // namespace penstock
