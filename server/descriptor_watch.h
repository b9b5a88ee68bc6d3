// Says when file descriptors run out.
#ifndef PENSTOCK_SERVER_DESCRIPTOR_WATCH_H_
#define PENSTOCK_SERVER_DESCRIPTOR_WATCH_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "records/base/mutex.h"

namespace penstock {

// From looks at how many descriptors are open, when to say so: once nine tenths of the limit are
// used, again every minute while it stays so, and when a fifth is free again. Not thread-safe.
class DescriptorAlarm {
 public:
  using Clock = std::chrono::steady_clock;

  // The line to log, if any.
  std::optional<std::string> Look(uint32_t open, uint32_t limit, Clock::time_point now);
  bool raised() const { return raised_; }

 private:
  bool raised_ = false;
  Clock::time_point said_;
};

// Looks every five seconds, on a thread of its own, and logs. A server that has none left cannot
// accept a connection and gRPC tells nobody.
class DescriptorWatch {
 public:
  DescriptorWatch();
  ~DescriptorWatch();

 private:
  void Run();

  Mutex mutex_;
  CondVar changed_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_DESCRIPTOR_WATCH_H_
