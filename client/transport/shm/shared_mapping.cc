#include "client/transport/shm/shared_mapping.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace penstock {
namespace {

constexpr off_t kMaxBytes = off_t{1} << 30;

// Refuses memory whose reader could be killed by SIGBUS: because the file shrinks, or because it
// needs huge pages that are not available.
absl::Status CheckSafe(int fd) {
  constexpr int kNeeded = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0) return ErrnoToStatus(errno, "the server sent a descriptor without memory seals");
  if ((seals & kNeeded) != kNeeded) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the server's shared memory lacks seals: it has ", seals, ", but needs all of ", kNeeded));
  }
  struct statfs system {};
  if (fstatfs(fd, &system) != 0) return ErrnoToStatus(errno, "fstatfs");
  if (system.f_type != TMPFS_MAGIC) {
    return absl::FailedPreconditionError("the server's shared memory is not on tmpfs");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const SharedMapping>> SharedMapping::Map(const UniqueFd& fd) {
  PENSTOCK_RETURN_IF_ERROR(CheckSafe(fd.get()));
  struct stat info {};
  if (fstat(fd.get(), &info) != 0) return ErrnoToStatus(errno, "fstat");
  if (info.st_size <= 0 || info.st_size > kMaxBytes) {
    return absl::FailedPreconditionError(absl::StrCat("the server's shared memory has ",
                                                      info.st_size, " bytes; 1 to ", kMaxBytes,
                                                      " are supported"));
  }
  const auto size = static_cast<size_t>(info.st_size);
  void* memory = mmap(nullptr, size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd.get(), 0);
  if (memory == MAP_FAILED) return ErrnoToStatus(errno, "mapping the server's memory");
  return std::shared_ptr<const SharedMapping>(
      new SharedMapping({static_cast<const uint8_t*>(memory), size}));
}

SharedMapping::~SharedMapping() { munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size()); }

}  // namespace penstock
