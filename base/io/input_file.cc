#include "base/io/input_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/io/file_kind.h"
#include "base/status.h"

namespace penstock {
namespace {

bool IsDevNull(const struct stat& info) {
  return S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3);
}

// open() reports "No such device or address" for a socket.
absl::Status InputOpenError(int error_number, const std::string& path) {
  struct stat info {};
  if (error_number == ENXIO && stat(path.c_str(), &info) == 0) {
    return NotRegularError(path, info.st_mode);
  }
  return ErrnoToStatus(error_number, path);
}

// Waits until a program has opened the pipe for writing, or has written to it. poll() reports
// neither a writer that has written nothing, nor one that ended before the pipe was opened here.
absl::Status AwaitWriter(InputFile& input, const std::string& path, absl::Duration patience,
                         absl::Status (*interrupted)()) {
  const absl::Time deadline = absl::Now() + patience;
  while (true) {
    pollfd pipe{.fd = input.fd.get(), .events = POLLIN, .revents = 0};
    const int ready = poll(&pipe, 1, /*milliseconds=*/20);
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) return ErrnoToStatus(errno, path);
    if (interrupted != nullptr) PENSTOCK_RETURN_IF_ERROR(interrupted());
    char byte;
    const ssize_t count = read(input.fd.get(), &byte, 1);
    if (count > 0) input.first.push_back(byte);
    if (count > 0 || (count < 0 && errno == EAGAIN)) return absl::OkStatus();
    if (count < 0 && errno != EINTR) return ErrnoToStatus(errno, path);
    if (absl::Now() < deadline) continue;
    return absl::DeadlineExceededError(
        absl::StrCat(path, ": is a pipe that no program has opened for writing within ",
                     absl::FormatDuration(patience), "; start the writer, or give a regular file"));
  }
}

}  // namespace

absl::StatusOr<InputFile> OpenInput(const std::string& path, absl::Duration patience,
                                    absl::Status (*interrupted)()) {
  // Without O_NONBLOCK, open() would wait for a writer for ever.
  InputFile input{UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)), ""};
  if (!input.fd.valid()) return InputOpenError(errno, path);
  struct stat info {};
  if (fstat(input.fd.get(), &info) != 0) return ErrnoToStatus(errno, path);
  if (S_ISREG(info.st_mode) || IsDevNull(info)) return input;
  if (!S_ISFIFO(info.st_mode)) return NotRegularError(path, info.st_mode);
  PENSTOCK_RETURN_IF_ERROR(AwaitWriter(input, path, patience, interrupted));
  if (fcntl(input.fd.get(), F_SETFL, O_RDONLY) != 0) return ErrnoToStatus(errno, path);
  return input;
}

absl::StatusOr<std::string> ReadInput(const std::string& path, uint64_t max_bytes,
                                      absl::Duration patience) {
  PENSTOCK_ASSIGN_OR_RETURN(InputFile input, OpenInput(path, patience));
  std::string text = std::move(input.first);
  char block[1 << 14];
  while (true) {
    const ssize_t count = read(input.fd.get(), block, sizeof(block));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoToStatus(errno, path);
    if (count == 0) return text;
    text.append(block, static_cast<size_t>(count));
    if (text.size() <= max_bytes) continue;
    return absl::ResourceExhaustedError(
        absl::StrCat(path, ": is larger than ", max_bytes, " bytes"));
  }
}

}  // namespace penstock
