#include "cli/feed/consumer_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/process/start_thread.h"
#include "base/status.h"

namespace penstock::feed {
namespace {

absl::StatusOr<UniqueFd> OpenProcess(int64_t pid) {
  if (pid == 0) return UniqueFd();
  UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0)));
  // Old kernels, and seccomp rules of old container engines, refuse pidfds.
  if (process.valid() || errno == ENOSYS || errno == EPERM) return process;
  return ErrnoToStatus(errno, absl::StrCat("--parent-pid ", pid));
}

void Watch(int consumer, int stop) {
  pollfd polled[] = {{consumer, POLLIN, 0}, {stop, POLLIN, 0}};
  while (poll(polled, 2, -1) < 0) {
    if (errno != EINTR) return;
  }
  if ((polled[0].revents & POLLIN) != 0) _exit(0);
}

}  // namespace

ConsumerWatch::ConsumerWatch(UniqueFd consumer, UniqueFd stop)
    : consumer_(std::move(consumer)), stop_(std::move(stop)) {}

absl::StatusOr<std::unique_ptr<ConsumerWatch>> ConsumerWatch::Start(int64_t pid) {
  PENSTOCK_ASSIGN_OR_RETURN(UniqueFd consumer, OpenProcess(pid));
  UniqueFd stop(eventfd(0, EFD_CLOEXEC));
  if (!stop.valid()) return ErrnoToStatus(errno, "an eventfd");
  std::unique_ptr<ConsumerWatch> watch(new ConsumerWatch(std::move(consumer), std::move(stop)));
  if (!watch->consumer_.valid()) return watch;
  const int descriptors[] = {watch->consumer_.get(), watch->stop_.get()};
  PENSTOCK_ASSIGN_OR_RETURN(watch->thread_, StartThread("that watches the consumer", [=] {
                              Watch(descriptors[0], descriptors[1]);
                            }));
  return watch;
}

ConsumerWatch::~ConsumerWatch() { eventfd_write(stop_.get(), 1); }

}  // namespace penstock::feed
