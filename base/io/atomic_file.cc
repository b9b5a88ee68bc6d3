#include "base/io/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace penstock {
namespace {

constexpr absl::string_view kTemporary = ".tmp-";

// The folder with its final slash; "" if `path` has no slash.
std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

std::string TemporaryName(const std::string& path) {
  static std::atomic<uint64_t> counter{0};
  std::string folder = FolderOf(path);
  return absl::StrCat(folder, ".", path.substr(folder.size()), kTemporary, ::getpid(), "-",
                      counter.fetch_add(1));
}

// rename() would replace /dev/null, or the link /dev/stdout, by a file.
absl::Status CheckReplaceable(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return absl::OkStatus();
  if (S_ISDIR(info.st_mode)) return ErrnoToStatus(EISDIR, path);
  const bool special = absl::StartsWith(path, "/dev/") || absl::StartsWith(path, "/proc/");
  if (S_ISREG(info.st_mode) && !special) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path,
                   ": is not a regular file, so it cannot be replaced; give the name of a "
                   "regular file"));
}

}  // namespace

absl::StatusOr<AtomicFile> AtomicFile::Create(const std::string& path) {
  PENSTOCK_RETURN_IF_ERROR(CheckReplaceable(path));
  while (true) {
    std::string temporary = TemporaryName(path);
    UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (fd.valid()) return AtomicFile(std::move(fd), path, std::move(temporary));
    // A killed process with the same process id left the file behind.
    if (errno != EEXIST) return ErrnoToStatus(errno, path);
  }
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : fd_(std::move(other.fd_)),
      path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, std::string())) {}

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  if (this != &other) {
    Discard();
    fd_ = std::move(other.fd_);
    path_ = std::move(other.path_);
    temporary_ = std::exchange(other.temporary_, std::string());
  }
  return *this;
}

absl::Status AtomicFile::Write(std::span<const uint8_t> data) {
  while (!data.empty()) {
    ssize_t count = ::write(fd_.get(), data.data(), data.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoToStatus(errno, absl::StrCat(path_, ": write"));
    data = data.subspan(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::Close() {
  if (::fsync(fd_.get()) != 0) return ErrnoToStatus(errno, absl::StrCat(path_, ": flush"));
  // Network file systems report a full disk in close().
  if (::close(fd_.Release()) != 0) return ErrnoToStatus(errno, absl::StrCat(path_, ": close"));
  return absl::OkStatus();
}

absl::Status AtomicFile::Commit() {
  PENSTOCK_RETURN_IF_ERROR(Close());
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return ErrnoToStatus(errno, absl::StrCat(path_, ": rename"));
  }
  temporary_.clear();
  return SyncFolderOf(path_);
}

void AtomicFile::Discard() {
  fd_.Reset();
  if (!temporary_.empty()) ::unlink(std::exchange(temporary_, std::string()).c_str());
}

std::string UnfinishedFileName(absl::string_view hidden) {
  const size_t end = hidden.rfind(kTemporary);
  if (end == absl::string_view::npos || hidden.empty() || hidden[0] != '.') return "";
  return std::string(hidden.substr(1, end - 1));
}

absl::Status SyncFolderOf(const std::string& path) {
  std::string folder = FolderOf(path);
  if (folder.empty()) folder = ".";
  UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // EINVAL means that the file system cannot flush folders.
  if (!fd.valid() || (::fsync(fd.get()) != 0 && errno != EINVAL)) {
    return ErrnoToStatus(errno, absl::StrCat(folder, ": flush"));
  }
  return absl::OkStatus();
}

absl::Status WriteFileAtomically(const std::string& path, std::span<const uint8_t> data) {
  PENSTOCK_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  PENSTOCK_RETURN_IF_ERROR(file.Write(data));
  return file.Commit();
}

}  // namespace penstock
