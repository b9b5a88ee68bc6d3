#include "trainer/comm/loss_alarm.h"

#include <sys/eventfd.h>

#include <cerrno>

#include "records/base/status.h"

namespace penstock {

LossAlarm::LossAlarm(StoreClient& store)
    : store_(store), event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  store_.OnLost(this, [this](const absl::Status&) { eventfd_write(event_.get(), 1); });
}

LossAlarm::~LossAlarm() { store_.OnLost(this, nullptr); }

absl::StatusOr<bool> LossAlarm::Poll(std::vector<pollfd>& sockets, const Patience& patience) {
  if (!event_.valid()) return ErrnoToStatus(EMFILE, "eventfd");
  sockets.push_back({event_.get(), POLLIN, 0});
  const int ready = poll(sockets.data(), sockets.size(), patience.left_ms());
  const int error = errno;
  sockets.pop_back();
  if (ready < 0 && error != EINTR) return ErrnoToStatus(error, "waiting for other ranks");
  PENSTOCK_RETURN_IF_ERROR(store_.lost());
  return ready > 0 || !patience.ended();
}

}  // namespace penstock
