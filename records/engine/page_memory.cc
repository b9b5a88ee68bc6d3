#include "records/engine/page_memory.h"

#include <sys/mman.h>

#include <iterator>
#include <new>

namespace penstock {
namespace {

constexpr std::align_val_t kCacheLine{64};

}  // namespace

PageMemory::PageMemory(size_t address_bytes, size_t keep_bytes) : keep_bytes_(keep_bytes) {
  if (address_bytes == 0) return;
  address_bytes = Capacity(address_bytes);
  void* mapped = mmap(nullptr, address_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return;  // ulimit -v forbids it, or the kernel does not overcommit.
  base_ = static_cast<uint8_t*>(mapped);
  address_bytes_ = address_bytes;
  MutexLock lock(&mutex_);
  AddEmpty({0, address_bytes});
}

PageMemory::~PageMemory() {
  if (base_ != nullptr) munmap(base_, address_bytes_);
}

uint8_t* PageMemory::Take(size_t bytes) {
  if (base_ != nullptr && bytes >= kMinBytes) {
    const size_t capacity = Capacity(bytes);
    MutexLock lock(&mutex_);
    if (uint8_t* taken = TakeKept(capacity)) return taken;
    if (uint8_t* taken = TakeEmpty(capacity)) return taken;
  }
  return static_cast<uint8_t*>(::operator new(bytes, kCacheLine));
}

uint8_t* PageMemory::TakeKept(size_t bytes) {
  auto found = kept_by_size_.lower_bound(bytes);
  if (found == kept_by_size_.end()) return nullptr;
  Run& run = *found->second;
  const size_t offset = run.offset;
  kept_bytes_ -= bytes;
  run.offset += bytes;
  run.bytes -= bytes;
  const Runs::iterator rest = found->second;
  kept_by_size_.erase(found);
  if (rest->bytes > 0) {
    kept_by_size_.emplace(rest->bytes, rest);
  } else {
    kept_.erase(rest);
  }
  return base_ + offset;
}

uint8_t* PageMemory::TakeEmpty(size_t bytes) {
  auto found = empty_by_size_.lower_bound({bytes, 0});
  if (found == empty_by_size_.end()) return nullptr;
  const auto [size, offset] = *found;
  empty_by_size_.erase(found);
  empty_.erase(offset);
  if (size > bytes) AddEmpty({offset + bytes, size - bytes});
  return base_ + offset;
}

void PageMemory::Return(uint8_t* taken, size_t bytes) {
  if (!IsOurs(taken)) return ::operator delete(taken, kCacheLine);
  MutexLock lock(&mutex_);
  Keep({static_cast<size_t>(taken - base_), Capacity(bytes)});
}

void PageMemory::Keep(Run run) {
  kept_bytes_ += run.bytes;
  kept_.push_back(run);
  kept_by_size_.emplace(run.bytes, std::prev(kept_.end()));
  while (kept_bytes_ > keep_bytes_) {
    const Run oldest = kept_.front();
    auto [entry, end] = kept_by_size_.equal_range(oldest.bytes);
    while (entry->second != kept_.begin()) ++entry;
    kept_by_size_.erase(entry);
    kept_.pop_front();
    kept_bytes_ -= oldest.bytes;
    Empty(oldest);
  }
}

void PageMemory::Empty(Run run) {
  madvise(base_ + run.offset, run.bytes, MADV_DONTNEED);
  AddEmpty(run);
}

void PageMemory::AddEmpty(Run run) {
  auto next = empty_.lower_bound(run.offset);
  if (next != empty_.end() && next->first == run.offset + run.bytes) {
    run.bytes += next->second;
    empty_by_size_.erase({next->second, next->first});
    next = empty_.erase(next);
  }
  if (next != empty_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == run.offset) {
      run.offset = previous->first;
      run.bytes += previous->second;
      empty_by_size_.erase({previous->second, previous->first});
      empty_.erase(previous);
    }
  }
  empty_.emplace(run.offset, run.bytes);
  empty_by_size_.emplace(run.bytes, run.offset);
}

size_t PageMemory::kept_bytes() const {
  MutexLock lock(&mutex_);
  return kept_bytes_;
}

}  // namespace penstock
