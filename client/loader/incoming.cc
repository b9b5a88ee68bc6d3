#include "client/loader/incoming.h"

#include <algorithm>
#include <chrono>

namespace penstock {

absl::Time SteadyNow() {
  return absl::UnixEpoch() + absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

void IncomingQueue::Push(Incoming incoming) {
  MutexLock lock(&mutex_);
  if (closed_) return;
  items_.push_back(std::move(incoming));
  if (items_.size() == 1) changed_.NotifyOne();
}

bool IncomingQueue::TakeAll(absl::Time deadline, std::vector<Incoming>& out) {
  // Bounded, since not every clock can express the infinite future.
  const absl::Duration wait = std::min(deadline - SteadyNow(), absl::Hours(1));
  const auto until = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(wait);
  out.clear();
  MutexLock lock(&mutex_);
  while (items_.empty() && !closed_ && changed_.WaitUntil(&mutex_, until)) continue;
  items_.swap(out);
  return !closed_;
}

void IncomingQueue::Close() {
  MutexLock lock(&mutex_);
  closed_ = true;
  changed_.NotifyAll();
}

}  // namespace penstock
