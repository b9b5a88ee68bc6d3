#include "records/engine/part_pool.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace penstock {
PartPool::~PartPool() {
  MutexLock lock(&mutex_);
  for (size_t i = 0; i < kClasses; ++i) {
    for (uint8_t* memory : free_[i]) memory_->Return(memory, kMinBytes << i);
  }
}

size_t PartPool::Class(size_t size) {
  return static_cast<size_t>(std::bit_width((std::max(size, kMinBytes) - 1) / kMinBytes));
}

size_t PartPool::Capacity(size_t size) { return kMinBytes << Class(size); }

PartPool::HomePtr PartPool::MakeHome() { return HomePtr(new Home(shared_from_this())); }

void PartPool::Lend(Home& home, std::shared_ptr<PartMemory> memory) {
  MutexLock lock(&mutex_);
  home.lent_ = std::move(memory);
}

std::span<uint8_t> PartPool::Take(Home& home, size_t size) {
  const size_t capacity = Capacity(size);
  MutexLock lock(&mutex_);
  ++home.outside_;
  if (home.lent_ != nullptr) {
    if (std::span<uint8_t> lent = home.lent_->Take(capacity); !lent.empty()) return lent;
  }
  return TakeOwn(size);
}

std::span<uint8_t> PartPool::TakeOwn(size_t size) {
  const size_t capacity = Capacity(size);
  std::vector<uint8_t*>& list = free_[Class(size)];
  if (list.empty()) return {memory_->Take(capacity), capacity};
  uint8_t* memory = list.back();
  list.pop_back();
  free_bytes_ -= capacity;
  return {memory, capacity};
}

std::span<uint8_t> PartPool::TakeShared(size_t size) {
  MutexLock lock(&mutex_);
  const std::span<uint8_t> memory = TakeOwn(size);
  owners_.emplace(memory.data(), 1);
  shared_bytes_ += memory.size();
  return memory;
}

void PartPool::Share(std::span<Home* const> homes, std::span<uint8_t> memory) {
  MutexLock lock(&mutex_);
  for (Home* home : homes) ++home->outside_;
  owners_.at(memory.data()) += static_cast<uint32_t>(homes.size());
}

void PartPool::DropShared(std::span<uint8_t> memory) {
  MutexLock lock(&mutex_);
  ReturnOwn(memory);
}

size_t PartPool::MostFree() const {
  return keep_bytes_ + most_shared_bytes_ - std::min(shared_bytes_, most_shared_bytes_);
}

void PartPool::ReturnOwn(std::span<uint8_t> memory) {
  if (auto shared = owners_.find(memory.data()); shared != owners_.end()) {
    if (--shared->second > 0) return;
    owners_.erase(shared);
    shared_bytes_ -= memory.size();
  }
  if (free_bytes_ + memory.size() <= MostFree()) {
    free_[Class(memory.size())].push_back(memory.data());
    free_bytes_ += memory.size();
  } else {
    memory_->Return(memory.data(), memory.size());
  }
}

// The last part of all owns the pool alone, and any other part may be so as soon as the lock is
// free.
void PartPool::Return(Home& home, std::span<uint8_t> memory) {
  std::shared_ptr<PartPool> self;  // Released after the lock, as is what was lent.
  std::shared_ptr<PartMemory> lent;
  home.part_bytes_.fetch_sub(memory.size());
  const bool awaited = ledger_.Subtract(memory.size());
  MutexLock lock(&mutex_);
  if (home.lent_ != nullptr && home.lent_->Holds(memory.data())) {
    home.lent_->Return(memory);
  } else {
    ReturnOwn(memory);
  }
  if (awaited && on_return_) on_return_();
  if (--home.outside_ > 0 || !home.closed_) return;
  self = std::move(home.pool_);
  lent = std::move(home.lent_);
  delete &home;
}

void PartPool::CloseHome(Home& home) {
  std::shared_ptr<PartPool> self;
  std::shared_ptr<PartMemory> lent;
  MutexLock lock(&mutex_);
  home.closed_ = true;
  if (home.outside_ > 0) return;
  self = std::move(home.pool_);
  lent = std::move(home.lent_);
  delete &home;
}

void PartPool::HomeCloser::operator()(Home* home) const { home->pool_->CloseHome(*home); }

void PartPool::Close() {
  MutexLock lock(&mutex_);
  on_return_ = nullptr;
}

}  // namespace penstock
