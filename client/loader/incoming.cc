#include "client/loader/incoming.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"

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
  // The wait is bounded, because not every clock can represent the infinite future.
  const absl::Duration wait = std::min(deadline - SteadyNow(), absl::Hours(1));
  const auto until = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(wait);
  out.clear();
  MutexLock lock(&mutex_);
  while (items_.empty() && !closed_ && changed_.WaitUntil(&mutex_, until)) continue;
  items_.swap(out);
  ++rounds_;
  return !closed_;
}

void IncomingQueue::Close() {
  MutexLock lock(&mutex_);
  closed_ = true;
  changed_.NotifyAll();
}

void StreamListener::OnEvent(StreamEvent event) {
  uint64_t bytes = 0;
  if (const auto* error = std::get_if<StreamError>(&event)) {
    bytes = error->status.message().size() + (error->damage ? error->damage->shard.size() : 0);
  }
  if (Count(bytes)) queue_.Push({stream_, std::move(event)});
}

void StreamListener::OnPart(ReceivedPart part) {
  if (parts_ != nullptr) return parts_->TakePart(stream_, std::move(part));
  if (Count(part.payload->size())) queue_.Push({stream_, std::move(part)});
}

bool StreamListener::Count(uint64_t bytes) {
  MutexLock lock(&mutex_);
  if (too_much_) return false;
  if (const uint64_t round = queue_.rounds(); round != round_) {
    round_ = round;
    said_ = {};
  }
  ++said_.messages;
  said_.bytes += bytes;
  if (said_.messages <= limits_.messages && said_.bytes <= limits_.bytes) return true;
  too_much_ = true;
  queue_.Push({stream_, StreamBroken{absl::FailedPreconditionError(absl::StrCat(
                            "sent more than the answers to all requests can be: ", said_.messages,
                            " messages (limit ", limits_.messages, "), ", said_.bytes,
                            " bytes (limit ", limits_.bytes, ")"))}});
  return false;
}

}  // namespace penstock
