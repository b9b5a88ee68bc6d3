#include "client/loader/inbox.h"

#include <chrono>

namespace penstock {

absl::Time SteadyNow() {
  return absl::UnixEpoch() + absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

bool Inbox::Take(absl::Time deadline, std::vector<InboxEvent>& events) {
  events.clear();
  // Bounded, since not every clock can express the infinite future.
  const absl::Duration wait = std::min(deadline - SteadyNow(), absl::Hours(1));
  const auto until = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(wait);
  MutexLock lock(&mutex_);
  while (events_.empty() && !closed_) {
    if (!changed_.WaitUntil(&mutex_, until)) break;
  }
  events.swap(events_);
  return !closed_;
}

InboxEvent StreamPoster::Event(InboxEvent::Kind kind) const {
  InboxEvent event;
  event.kind = kind;
  event.stream = stream_;
  return event;
}

void StreamPoster::OnHello(const ServerInfo& info) {
  InboxEvent event = Event(InboxEvent::Kind::kHello);
  event.info = info;
  inbox_.Post(std::move(event));
}

void StreamPoster::OnWindowReady(uint64_t window, uint64_t) {
  InboxEvent event = Event(InboxEvent::Kind::kWindowReady);
  event.number = window;
  inbox_.Post(std::move(event));
}

void StreamPoster::OnPart(ReceivedPart part) {
  InboxEvent event = Event(InboxEvent::Kind::kPart);
  event.part = std::move(part);
  inbox_.Post(std::move(event));
}

void StreamPoster::OnError(StreamError error) {
  InboxEvent event = Event(InboxEvent::Kind::kError);
  event.error = std::move(error);
  inbox_.Post(std::move(event));
}

void StreamPoster::OnCredit(uint64_t bytes) {
  InboxEvent event = Event(InboxEvent::Kind::kCredit);
  event.number = bytes;
  inbox_.Post(std::move(event));
}

void StreamPoster::OnDraining(uint32_t) { inbox_.Post(Event(InboxEvent::Kind::kDraining)); }

void StreamPoster::OnBroken(absl::Status status) {
  InboxEvent event = Event(InboxEvent::Kind::kBroken);
  event.error.status = std::move(status);
  inbox_.Post(std::move(event));
}

}  // namespace penstock
