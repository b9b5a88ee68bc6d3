// How long ranks wait for each other.
#ifndef PENSTOCK_TRAINER_COMM_WAIT_OPTIONS_H_
#define PENSTOCK_TRAINER_COMM_WAIT_OPTIONS_H_

#include <functional>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace penstock {

struct WaitOptions {
  absl::Duration connect_timeout = absl::Seconds(60);
  // An exchange without progress for so long is an error that names who is late, where it is known.
  absl::Duration timeout = absl::Minutes(10);
  // How long a broken connection waits for the store to say which rank ended first.
  absl::Duration verdict_timeout = absl::Seconds(5);
  // Who keeps others waiting for `late_after` is told of once, in one line, on every rank that has
  // a `report`. On another thread, or the one that waits for a GPU.
  absl::Duration late_after = absl::Seconds(60);
  std::function<void(absl::string_view)> report = nullptr;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_WAIT_OPTIONS_H_
