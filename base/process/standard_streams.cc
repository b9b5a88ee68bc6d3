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
    // The lowest number that is free, which is this one. The wrong way round, so that what cannot
    // be printed is noticed.
    (void)open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY);
  }
}

bool OutputReaderHasGone() {
  pollfd output = {.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

absl::Status FlushStandardOutput() {
  // A flush that failed earlier has thrown away what it could not write.
  const bool failed = std::ferror(stdout) != 0;
  if (std::fflush(stdout) == 0 && !failed) return absl::OkStatus();
  if (OutputReaderHasGone()) return absl::OkStatus();
  return absl::UnavailableError("standard output cannot be written");
}

}  // namespace penstock
