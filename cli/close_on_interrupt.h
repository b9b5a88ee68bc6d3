// Ctrl-C ends a blocked read.
#ifndef PENSTOCK_CLI_CLOSE_ON_INTERRUPT_H_
#define PENSTOCK_CLI_CLOSE_ON_INTERRUPT_H_

#include <thread>

#include "client/loader/loader.h"

namespace penstock {

// While it lives, a signal that an InterruptGuard remembers closes `loader`, which must outlive
// it. REQUIRES: an InterruptGuard lives at least as long. Not thread-safe.
class CloseOnInterrupt {
 public:
  explicit CloseOnInterrupt(Loader& loader);
  ~CloseOnInterrupt();
  CloseOnInterrupt(const CloseOnInterrupt&) = delete;
  CloseOnInterrupt& operator=(const CloseOnInterrupt&) = delete;

 private:
  int end_;  // eventfd(2): readable when the thread has to end.
  std::jthread thread_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_CLOSE_ON_INTERRUPT_H_
