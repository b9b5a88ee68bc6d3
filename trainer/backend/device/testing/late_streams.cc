#include "trainer/backend/device/testing/late_streams.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace penstock {
namespace {

// Pause between two polls of long work.
constexpr std::chrono::microseconds kPause{50};

}  // namespace

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

void LateStreams::PushLong(DeviceQueue queue, LongWork work) {
  RunSome();
  QueueOf(queue).push_back({.kind = Item::Kind::kLongWork, .long_work = std::move(work)});
}

absl::Status LateStreams::Synchronize(DeviceQueue queue) {
  RunSome();
  while (!RunAll(QueueOf(queue))) std::this_thread::sleep_for(kPause);
  return status_;
}

absl::Status LateStreams::Synchronize(DeviceEvent event) {
  RunSome();
  while (!RunUntil(event, recorded_[event])) std::this_thread::sleep_for(kPause);
  return status_;
}

absl::StatusOr<bool> LateStreams::Done(DeviceEvent event) {
  RunSome();
  const bool done = RunUntil(event, recorded_[event]);
  if (!status_.ok()) return status_;
  return done;
}

absl::StatusOr<bool> LateStreams::Done(DeviceQueue queue) {
  RunSome();
  const bool done = RunAll(QueueOf(queue));
  if (!status_.ok()) return status_;
  return done;
}

void LateStreams::RunSome() {
  if (!random_.has_value()) return;
  std::deque<Item>& queue = queues_[random_->Below(kDeviceQueues)];
  for (uint64_t left = random_->Below(8); left > 0 && !queue.empty(); --left) {
    const Item& first = queue.front();
    if (first.kind == Item::Kind::kWait && !Has(first)) return;
    if (!RunFirst(queue)) return;
  }
}

bool LateStreams::RunFirst(std::deque<Item>& queue) {
  if (queue.front().kind == Item::Kind::kWait &&
      !RunUntil(queue.front().event, queue.front().number)) {
    return false;
  }
  if (queue.front().kind == Item::Kind::kLongWork && status_.ok()) {
    Item& first = queue.front();
    if (!std::exchange(first.started, true)) first.long_work.start();
    if (!first.long_work.done()) return false;
  }
  const Item item = std::move(queue.front());
  queue.pop_front();
  if (item.kind == Item::Kind::kRecord) {
    happened_[item.event] = std::max(happened_[item.event], item.number);
  } else if (item.kind == Item::Kind::kWork && status_.ok()) {
    status_ = item.work();
  }
  return true;
}

bool LateStreams::RunAll(std::deque<Item>& queue) {
  while (!queue.empty()) {
    if (!RunFirst(queue)) return false;
  }
  return true;
}

// Terminates, because an event's record precedes every wait for it in some queue.
bool LateStreams::RunUntil(DeviceEvent event, uint64_t number) {
  for (std::deque<Item>& queue : queues_) {
    const bool here = std::any_of(queue.begin(), queue.end(), [&](const Item& item) {
      return item.kind == Item::Kind::kRecord && item.event == event && item.number == number;
    });
    while (here && happened_[event] < number) {
      if (!RunFirst(queue)) return false;
    }
  }
  return true;
}

}  // namespace penstock
