#include "base/io/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/io/file_kind.h"
#include "base/io/unique_fd.h"
#include "base/status.h"

namespace penstock {
namespace {

// open() reports "No such device or address" for a socket and for a pipe that no program reads.
absl::Status OutputOpenError(int error_number, const std::string& path) {
  struct stat info {};
  if (error_number != ENXIO || stat(path.c_str(), &info) != 0) {
    return ErrnoToStatus(error_number, path);
  }
  if (!S_ISFIFO(info.st_mode)) return NotRegularError(path, info.st_mode);
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": is a pipe that no program reads; start the reader first"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<std::FILE, CloseFile>> OpenOutput(const std::string& path,
                                                                 bool append) {
  // O_NONBLOCK makes a pipe that no program reads an error; otherwise open() would wait.
  const int how =
      O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (append ? O_APPEND : O_TRUNC);
  UniqueFd fd(open(path.c_str(), how, 0666));
  if (!fd.valid()) return OutputOpenError(errno, path);
  if (fcntl(fd.get(), F_SETFL, how & O_APPEND) != 0) return ErrnoToStatus(errno, path);
  std::unique_ptr<std::FILE, CloseFile> file(fdopen(fd.get(), append ? "a" : "w"));
  if (file == nullptr) return ErrnoToStatus(errno, path);
  (void)fd.Release();
  return file;
}

}  // namespace penstock
