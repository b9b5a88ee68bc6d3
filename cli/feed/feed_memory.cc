#include "cli/feed/feed_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace penstock::feed {

absl::StatusOr<std::unique_ptr<FeedMemory>> FeedMemory::Map(UniqueFd memory, size_t bytes) {
  const int seals = fcntl(memory.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return absl::InvalidArgumentError(
        "START: the descriptor is no memfd that is sealed against shrinking (F_SEAL_SHRINK)");
  }
  struct stat info {};
  if (fstat(memory.get(), &info) != 0) return ErrnoToStatus(errno, "START: the memory");
  const auto size = static_cast<size_t>(info.st_size);
  if (size < bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("START: the memory has ", size, " bytes, and its slots need ", bytes));
  }
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (data == MAP_FAILED) return ErrnoToStatus(errno, "START: mapping the memory");
  return std::unique_ptr<FeedMemory>(new FeedMemory(static_cast<uint8_t*>(data), size));
}

FeedMemory::~FeedMemory() { munmap(data_, size_); }

absl::StatusOr<uint8_t*> FeedMemory::Allocate(size_t bytes) {
  if (bytes <= size_) return data_;
  return absl::ResourceExhaustedError(absl::StrCat("the memory has only ", size_, " bytes"));
}

void FeedMemory::Free(uint8_t* /*memory*/, size_t /*bytes*/) {}

}  // namespace penstock::feed
