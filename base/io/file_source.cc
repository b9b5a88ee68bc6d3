#include "base/io/file_source.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/io/file_kind.h"
#include "base/status.h"

namespace penstock {

absl::StatusOr<std::unique_ptr<FileSource>> FileSource::Open(const std::string& path) {
  // Without O_NONBLOCK, opening a pipe that has no writer would wait for ever. Files ignore the
  // flag.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info;
  // open() reports "No such device or address" for a socket.
  if (!fd.valid() && errno == ENXIO && ::stat(path.c_str(), &info) == 0) {
    return NotRegularError(path, info.st_mode);
  }
  if (!fd.valid()) return ErrnoToStatus(errno, path);
  return FromDescriptor(std::move(fd), path);
}

absl::StatusOr<std::unique_ptr<FileSource>> FileSource::FromDescriptor(UniqueFd fd,
                                                                       std::string name) {
  struct stat info;
  if (::fstat(fd.get(), &info) != 0) return ErrnoToStatus(errno, name);
  if (!S_ISREG(info.st_mode)) return NotRegularError(name, info.st_mode);
  FileIdentity identity{static_cast<uint64_t>(info.st_size),
                        int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec};
  return std::unique_ptr<FileSource>(new FileSource(std::move(fd), std::move(name), identity));
}

absl::Status FileSource::ReadAt(uint64_t offset, std::span<uint8_t> out) const {
  size_t done = 0;
  while (done < out.size()) {
    ssize_t count =
        ::pread(fd_.get(), out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoToStatus(errno, absl::StrCat(name_, ": read at ", offset + done));
    if (count == 0) {
      struct stat info;
      uint64_t now = ::fstat(fd_.get(), &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
      return ShortReadError(name_, offset, out.size(), now);
    }
    done += static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<uint8_t>> ReadWholeFile(const std::string& path) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<FileSource> source, FileSource::Open(path));
  std::vector<uint8_t> bytes(source->size());
  PENSTOCK_RETURN_IF_ERROR(source->ReadAt(0, bytes));
  return bytes;
}

}  // namespace penstock
