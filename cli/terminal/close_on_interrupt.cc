#include "cli/terminal/close_on_interrupt.h"

#include <poll.h>
#include <sys/eventfd.h>

#include "base/process/start_thread.h"
#include "base/status.h"
#include "cli/terminal/interrupt.h"

namespace penstock {

absl::StatusOr<std::unique_ptr<CloseOnInterrupt>> CloseOnInterrupt::Start(Loader& loader) {
  std::unique_ptr<CloseOnInterrupt> close(new CloseOnInterrupt);
  // The eventfd ends the thread, and the guard's pipe wakes it at a signal.
  if (!close->end_.valid() || InterruptGuard::descriptor() < 0) {
    return ErrnoToStatus(EMFILE, "cannot wait for Ctrl-C");
  }
  PENSTOCK_ASSIGN_OR_RETURN(
      close->thread_,
      StartThread("that waits for Ctrl-C", [it = close.get(), &loader] { it->Run(loader); }));
  return close;
}

CloseOnInterrupt::CloseOnInterrupt() : end_(eventfd(0, EFD_CLOEXEC)) {}

void CloseOnInterrupt::Run(Loader& loader) const {
  pollfd descriptors[] = {{end_.get(), POLLIN, 0}, {InterruptGuard::descriptor(), POLLIN, 0}};
  while (poll(descriptors, 2, -1) < 0) {
  }  // poll() returns EINTR for the signal itself.
  if (descriptors[1].revents != 0) loader.Close();
}

CloseOnInterrupt::~CloseOnInterrupt() {
  eventfd_write(end_.get(), 1);
  if (thread_.joinable()) thread_.join();
}

}  // namespace penstock
