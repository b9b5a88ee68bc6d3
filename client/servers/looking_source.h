// A source that looks for servers from time to time, on a thread of its own.
#ifndef PENSTOCK_CLIENT_SERVERS_LOOKING_SOURCE_H_
#define PENSTOCK_CLIENT_SERVERS_LOOKING_SOURCE_H_

#include <chrono>
#include <memory>
#include <stop_token>
#include <thread>

#include "absl/time/time.h"
#include "base/io/unique_fd.h"
#include "client/servers/server_look.h"
#include "client/servers/server_source.h"

namespace penstock {

struct LookTimes {
  absl::Duration every;
  absl::Duration retry_every;  // Time between looks while the last one had a problem.
  absl::Duration refresh_gap;  // Minimum time between two looks.
};

// Thread-safe once Start() has returned.
class LookingSource final : public ServerSource {
 public:
  LookingSource(std::unique_ptr<ServerLook> look, const LookTimes& times);
  ~LookingSource() override;

  absl::Status Start(OnSet on_set) override;
  void Refresh() override;

 private:
  void Run(const std::stop_token& stop);
  // Waits until the next look is due, or until `stop` is requested.
  void Wait(const std::stop_token& stop, std::chrono::steady_clock::time_point looked_at,
            bool had_problem);

  const std::unique_ptr<ServerLook> look_;
  const LookTimes times_;
  OnSet on_set_;
  UniqueFd wake_;  // An eventfd(2) that wakes the thread, for Refresh() or to stop.
  std::jthread thread_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SERVERS_LOOKING_SOURCE_H_
