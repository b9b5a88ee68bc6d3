#include "cli/feed/feed_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/rounding.h"
#include "base/status.h"

namespace penstock::feed {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // Since Linux 6.1; older kernels return EINVAL, and pages stay small.
#endif

// Maps memory aligned for huge pages. Returns null on failure; errno has the reason.
uint8_t* MapAligned(int memory, size_t size) {
  const size_t reserved = size + kHugePage;
  void* place = mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) return nullptr;
  auto* begin = static_cast<uint8_t*>(place);
  uint8_t* data = begin + (kHugePage - reinterpret_cast<uintptr_t>(begin) % kHugePage) % kHugePage;
  void* mapped = mmap(data, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory, 0);
  if (mapped == MAP_FAILED) {
    const int error = errno;
    munmap(place, reserved);
    errno = error;
    return nullptr;
  }
  if (data > begin) munmap(begin, static_cast<size_t>(data - begin));
  uint8_t* end = data + RoundUp(size, static_cast<size_t>(sysconf(_SC_PAGESIZE)));
  if (end < begin + reserved) munmap(end, static_cast<size_t>(begin + reserved - end));
  return data;
}

}  // namespace

// A memfd has huge pages only if it asks for them this way, whatever the system's setting. They
// matter because strips go to all slots in turn, each slot on pages of its own: with small pages,
// int8 batches of 4,096 took a quarter more CPU time.
absl::StatusOr<std::unique_ptr<FeedMemory>> FeedMemory::Map(UniqueFd memory, size_t bytes) {
  const int seals = fcntl(memory.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return absl::InvalidArgumentError(
        "START: the descriptor must be a memfd that is sealed against shrinking (F_SEAL_SHRINK)");
  }
  struct stat info {};
  if (fstat(memory.get(), &info) != 0) return ErrnoToStatus(errno, "START: the memory");
  const auto size = static_cast<size_t>(info.st_size);
  if (size < bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("START: the memory has ", size, " bytes, and its slots need ", bytes));
  }
  uint8_t* data = MapAligned(memory.get(), size);
  if (data == nullptr) return ErrnoToStatus(errno, "START: mapping the memory");
  madvise(data, size, MADV_COLLAPSE);
  return std::unique_ptr<FeedMemory>(new FeedMemory(data, size));
}

FeedMemory::~FeedMemory() { munmap(data_, size_); }

absl::StatusOr<uint8_t*> FeedMemory::Allocate(size_t bytes) {
  if (bytes <= size_) return data_;
  return absl::ResourceExhaustedError(absl::StrCat("the memory has only ", size_, " bytes"));
}

void FeedMemory::Free(uint8_t* /*memory*/, size_t /*bytes*/) {}

}  // namespace penstock::feed
