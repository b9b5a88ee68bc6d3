// Virtual time: runs events in the order in which they happen.
#ifndef PENSTOCK_CLIENT_FETCH_SIM_EVENT_QUEUE_H_
#define PENSTOCK_CLIENT_FETCH_SIM_EVENT_QUEUE_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/time/time.h"

namespace penstock::sim {

// Runs actions at their times. Actions of the same time run in the order in which they were added,
// so a run is a function of its inputs. Starts at the Unix epoch. Not thread-safe.
class EventQueue {
 public:
  using Action = std::function<void()>;

  absl::Time now() const { return now_; }
  uint64_t executed() const { return executed_; }

  // Runs `action` at `when`, or now if that time has passed.
  void At(absl::Time when, Action action) {
    heap_.push_back({std::max(when, now_), sequence_++, std::move(action)});
    std::push_heap(heap_.begin(), heap_.end(), Later);
  }
  void After(absl::Duration delay, Action action) { At(now_ + delay, std::move(action)); }

  // Runs the next action. Returns false if there is none.
  bool Step() {
    if (heap_.empty()) return false;
    std::pop_heap(heap_.begin(), heap_.end(), Later);
    Event event = std::move(heap_.back());
    heap_.pop_back();
    now_ = event.when;
    ++executed_;
    event.action();
    return true;
  }

 private:
  struct Event {
    absl::Time when;
    uint64_t sequence;
    Action action;
  };
  static bool Later(const Event& a, const Event& b) {
    return a.when != b.when ? a.when > b.when : a.sequence > b.sequence;
  }

  absl::Time now_ = absl::UnixEpoch();
  uint64_t sequence_ = 0;
  uint64_t executed_ = 0;
  std::vector<Event> heap_;
};

}  // namespace penstock::sim

#endif  // PENSTOCK_CLIENT_FETCH_SIM_EVENT_QUEUE_H_
