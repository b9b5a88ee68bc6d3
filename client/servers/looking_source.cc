#include "client/servers/looking_source.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/process/start_thread.h"
#include "base/status.h"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

int MillisecondsUntil(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 3'600'000));
}

}  // namespace

LookingSource::LookingSource(std::unique_ptr<ServerLook> look, const LookTimes& times)
    : look_(std::move(look)), times_(times), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

LookingSource::~LookingSource() {
  thread_.request_stop();
  Refresh();
}

absl::Status LookingSource::Start(OnSet on_set) {
  on_set_ = std::move(on_set);
  PENSTOCK_ASSIGN_OR_RETURN(
      thread_,
      StartThread("that looks up servers", [this](const std::stop_token& stop) { Run(stop); }));
  return absl::OkStatus();
}

void LookingSource::Refresh() { eventfd_write(wake_.get(), 1); }

void LookingSource::Run(const std::stop_token& stop) {
  std::optional<ServerSet> told;
  while (!stop.stop_requested()) {
    const Clock::time_point now = Clock::now();
    eventfd_t ignored;
    eventfd_read(wake_.get(), &ignored);
    ServerSet set = look_->Look(stop);
    if (stop.stop_requested()) return;
    const bool problem = !set.problem.ok();
    if (told != set) {
      told = std::move(set);
      on_set_(*told);
    }
    Wait(stop, now, problem);
  }
}

void LookingSource::Wait(const std::stop_token& stop, Clock::time_point looked_at,
                         bool had_problem) {
  const absl::Duration every = had_problem ? times_.retry_every : times_.every;
  pollfd fds[] = {{wake_.get(), POLLIN, 0}, {look_->descriptor(), POLLIN, 0}};
  // After EINTR the source looks early, which does no harm.
  poll(fds, 2, MillisecondsUntil(looked_at + absl::ToChronoNanoseconds(every)));
  const Clock::time_point gap_ends = looked_at + absl::ToChronoNanoseconds(times_.refresh_gap);
  while (!stop.stop_requested() && Clock::now() < gap_ends) {
    eventfd_t ignored;
    eventfd_read(wake_.get(), &ignored);
    if (stop.stop_requested()) return;
    poll(fds, 1, MillisecondsUntil(gap_ends));
  }
}

}  // namespace penstock
