#include "base/process/standard_streams.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace penstock {

void HoldStandardStreams() {
  for (const int stream : {0, 1, 2}) {
    if (fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    // open() returns the lowest free number, which is this one. The access mode is the wrong one on
    // purpose, so that reads and writes fail and are noticed.
    (void)open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY);
  }
}

bool OutputReaderHasGone() {
  pollfd output = {.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

absl::Status FlushStandardOutput() {
  // An earlier flush that failed has already dropped what it could not write.
  const bool failed = std::ferror(stdout) != 0;
  if (std::fflush(stdout) == 0 && !failed) return absl::OkStatus();
  if (OutputReaderHasGone()) return absl::OkStatus();
  return absl::UnavailableError("cannot write to standard output");
}

}  // namespace penstock
