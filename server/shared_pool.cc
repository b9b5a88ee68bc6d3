#include "server/shared_pool.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace penstock {
namespace {

// Linux has it since 5.1. Older headers lack it.
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

absl::Status Seal(int fd) {
  constexpr int kSize = F_SEAL_SHRINK | F_SEAL_GROW;
  // Our own mapping stays writable.
  if (fcntl(fd, F_ADD_SEALS, kSize | F_SEAL_FUTURE_WRITE) != 0 &&
      fcntl(fd, F_ADD_SEALS, kSize) != 0) {
    return ErrnoToStatus(errno, "sealing shared memory");
  }
  if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL) != 0) return ErrnoToStatus(errno, "F_SEAL_SEAL");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<SharedPool>> SharedPool::Create(size_t size,
                                                               std::shared_ptr<void> counted) {
  UniqueFd fd(memfd_create("penstock-parts", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return ErrnoToStatus(errno, "memfd_create");
  // ftruncate() alone would not do: a page that is not available later would kill the reader.
  if (int error = posix_fallocate(fd.get(), 0, static_cast<off_t>(size)); error != 0) {
    return ErrnoToStatus(error, absl::StrCat("shared memory of ", size, " bytes"));
  }
  void* memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd.get(), 0);
  if (memory == MAP_FAILED) return ErrnoToStatus(errno, "mapping shared memory");
  std::shared_ptr<SharedPool> pool(
      new SharedPool(std::move(fd), {static_cast<uint8_t*>(memory), size}, std::move(counted)));
  PENSTOCK_RETURN_IF_ERROR(Seal(pool->fd()));
  return pool;
}

SharedPool::SharedPool(UniqueFd fd, std::span<uint8_t> memory, std::shared_ptr<void> counted)
    : fd_(std::move(fd)),
      memory_(memory),
      counted_(std::move(counted)),
      taken_(memory.size() / kBlockBytes) {}

SharedPool::~SharedPool() { munmap(memory_.data(), memory_.size()); }

std::optional<size_t> SharedPool::FindFree(size_t blocks) const {
  for (size_t at = 0; at + blocks <= taken_.size(); at += blocks) {
    const auto begin = taken_.begin() + static_cast<ptrdiff_t>(at);
    const auto end = begin + static_cast<ptrdiff_t>(blocks);
    if (std::find(begin, end, true) == end) return at;
  }
  return std::nullopt;
}

std::span<uint8_t> SharedPool::Take(size_t capacity) {
  const size_t blocks = capacity / kBlockBytes;
  MutexLock lock(&mutex_);
  const std::optional<size_t> at = FindFree(blocks);
  if (!at.has_value()) return {};
  std::fill_n(taken_.begin() + static_cast<ptrdiff_t>(*at), blocks, true);
  return memory_.subspan(*at * kBlockBytes, capacity);
}

void SharedPool::Return(std::span<uint8_t> memory) {
  const uint64_t at = OffsetOf(memory.data()) / kBlockBytes;
  MutexLock lock(&mutex_);
  std::fill_n(taken_.begin() + static_cast<ptrdiff_t>(at), memory.size() / kBlockBytes, false);
}

}  // namespace penstock
