#include "base/io/root.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"

namespace penstock {
namespace {

// Without O_NONBLOCK, opening a pipe that has no writer would wait for ever. Files ignore the flag.
constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

absl::Status CheckPath(absl::string_view path) {
  if (path.empty()) return absl::InvalidArgumentError("the path is empty");
  if (path.find('\0') != absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat("the path has a NUL at ", path.find('\0')));
  }
  if (path[0] == '/') {
    return absl::PermissionDeniedError(
        absl::StrCat(path, ": is absolute; paths are relative to the data root"));
  }
  for (absl::string_view part : absl::StrSplit(path, '/')) {
    if (part == "..") {
      return absl::PermissionDeniedError(absl::StrCat(path, ": '..' could leave the data root"));
    }
  }
  return absl::OkStatus();
}

int OpenBeneath(int root, const std::string& path) {
  open_how how{};
  how.flags = kOpenFlags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  // EAGAIN means that the look-up raced with a rename elsewhere.
  for (int attempt = 0;; ++attempt) {
    int fd = static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof(how)));
    if (fd >= 0 || errno != EAGAIN || attempt == 16) return fd;
  }
}

int OpenPartByPart(int root, const std::string& path) {
  std::vector<std::string> parts = absl::StrSplit(path, '/', absl::SkipEmpty());
  UniqueFd folder;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    int from = folder.valid() ? folder.get() : root;
    UniqueFd next(::openat(from, parts[i].c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next.valid()) {
      struct stat info;
      // The kernel reports ENOTDIR for a link too, because it checks O_DIRECTORY first.
      bool link = ::fstatat(from, parts[i].c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
                  S_ISLNK(info.st_mode);
      errno = link ? ELOOP : errno;
      return -1;
    }
    folder = std::move(next);
  }
  return ::openat(folder.valid() ? folder.get() : root, parts.back().c_str(),
                  kOpenFlags | O_NOFOLLOW);
}

absl::Status RootOpenError(int error_number, absl::string_view path, bool follows_links) {
  if (error_number == ELOOP && follows_links) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, ": too many links on this path, which probably form a loop"));
  }
  if (error_number == EXDEV || error_number == ELOOP) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, ": a link on this path leads out of the data root"));
  }
  return penstock::ErrnoToStatus(error_number, path);
}

}  // namespace

absl::StatusOr<Root> Root::Open(const std::string& folder) {
  UniqueFd fd(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() && errno == ENOTDIR) {
    return absl::InvalidArgumentError(absl::StrCat(folder, ": is not a folder"));
  }
  struct stat info;
  // O_PATH needs no permission for the folder itself; looking something up in it, even ".", does.
  if (!fd.valid() || ::fstatat(fd.get(), ".", &info, 0) != 0) return ErrnoToStatus(errno, folder);
  return Root(std::move(fd), folder);
}

absl::StatusOr<std::unique_ptr<FileSource>> Root::OpenFile(absl::string_view path) const {
  PENSTOCK_RETURN_IF_ERROR(CheckPath(path));
  std::string name(path);
  int fd = -1;
  bool walk = !use_openat2_;
  if (!walk) {
    fd = OpenBeneath(fd_.get(), name);
    // Old container runtimes return EPERM for system calls that they do not know.
    walk = fd < 0 && (errno == ENOSYS || errno == EPERM);
  }
  if (walk) fd = OpenPartByPart(fd_.get(), name);
  if (fd < 0) return RootOpenError(errno, path, !walk);
  return FileSource::FromDescriptor(UniqueFd(fd), std::move(name));
}

}  // namespace penstock
