#include "cli/close_on_interrupt.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cli/interrupt.h"

namespace penstock {

CloseOnInterrupt::CloseOnInterrupt(Loader& loader)
    : end_(eventfd(0, EFD_CLOEXEC)), thread_([this, &loader] {
        pollfd descriptors[] = {{end_, POLLIN, 0}, {InterruptGuard::descriptor(), POLLIN, 0}};
        while (poll(descriptors, 2, -1) < 0) {
        }  // EINTR: the signal itself.
        if (descriptors[1].revents != 0) loader.Close();
      }) {}

CloseOnInterrupt::~CloseOnInterrupt() {
  eventfd_write(end_, 1);
  thread_.join();
  close(end_);
}

}  // namespace penstock
