#include "trainer/comm/late_watch.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace penstock {

LateWatch::LateWatch(std::chrono::milliseconds late_after,
                     std::function<void(absl::string_view)> report)
    : late_after_(late_after), report_(std::move(report)) {
  if (report_) thread_ = std::jthread([this](const std::stop_token& stop) { Watch(stop); });
}

LateWatch::~LateWatch() {
  thread_.request_stop();
  // Under the lock, so that it is not lost between the look at `stop` and the wait.
  MutexLock lock(&mutex_);
  changed_.NotifyAll();
}

void LateWatch::Begin(size_t peer) {
  MutexLock lock(&mutex_);
  peer_ = peer;
  since_ = std::chrono::steady_clock::now();
}

void LateWatch::End() {
  MutexLock lock(&mutex_);
  peer_.reset();
}

// Looks now and then instead of being woken at every wait: those are many, late ones are few.
void LateWatch::Watch(const std::stop_token& stop) {
  MutexLock lock(&mutex_);
  while (!stop.stop_requested()) {
    const auto now = std::chrono::steady_clock::now();
    if (peer_.has_value() && now - since_ >= late_after_) {
      report_(absl::StrCat("waiting for rank ", *peer_, " for ",
                           absl::FormatDuration(absl::FromChrono(late_after_)),
                           "; its own output may say why"));
      peer_.reset();
    }
    changed_.WaitUntil(&mutex_, now + late_after_ / 4);
  }
}

}  // namespace penstock
