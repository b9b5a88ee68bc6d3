// Makes Ctrl-C end a blocked read.
#ifndef PENSTOCK_CLI_TERMINAL_CLOSE_ON_INTERRUPT_H_
#define PENSTOCK_CLI_TERMINAL_CLOSE_ON_INTERRUPT_H_

#include <memory>
#include <thread>

#include "base/io/unique_fd.h"
#include "client/loader/loader.h"

namespace penstock {

// While this lives, a signal that an InterruptGuard remembers closes `loader`, which must outlive
// this. REQUIRES: an InterruptGuard lives at least as long. Not thread-safe.
class CloseOnInterrupt {
 public:
  // kResourceExhausted: no thread or descriptor is available.
  static absl::StatusOr<std::unique_ptr<CloseOnInterrupt>> Start(Loader& loader);
  ~CloseOnInterrupt();
  CloseOnInterrupt(const CloseOnInterrupt&) = delete;
  CloseOnInterrupt& operator=(const CloseOnInterrupt&) = delete;

 private:
  CloseOnInterrupt();
  void Run(Loader& loader) const;

  UniqueFd end_;  // eventfd(2): readable when the thread must end.
  std::jthread thread_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_TERMINAL_CLOSE_ON_INTERRUPT_H_
