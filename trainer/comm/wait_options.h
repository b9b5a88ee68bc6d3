// Time limits for waits between ranks.
#ifndef PENSTOCK_TRAINER_COMM_WAIT_OPTIONS_H_
#define PENSTOCK_TRAINER_COMM_WAIT_OPTIONS_H_

#include <functional>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace penstock {

struct WaitOptions {
  absl::Duration connect_timeout = absl::Seconds(60);
  // An exchange without progress for this long is an error that names the late ranks if they are
  // known.
  absl::Duration timeout = absl::Minutes(10);
  // How long a broken connection waits for the store to say which rank ended first.
  absl::Duration verdict_timeout = absl::Seconds(5);
  // A rank that keeps others waiting for this long is reported once, in one line, on every rank
  // with a `report`. The call comes from another thread, or from the thread that waits for a GPU.
  absl::Duration late_after = absl::Seconds(60);
  std::function<void(absl::string_view)> report = nullptr;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_WAIT_OPTIONS_H_
