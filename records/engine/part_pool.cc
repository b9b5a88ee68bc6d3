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

PartPool::HomePtr PartPool::MakeHome(SessionState* session) {
  return HomePtr(new Home(shared_from_this(), session));
}

void PartPool::Lend(Home& home, std::shared_ptr<PartMemory> memory) {
  MutexLock lock(&mutex_);
  home.lent_ = std::move(memory);
}

std::span<uint8_t> PartPool::Take(Home& home, size_t size) {
  const size_t capacity = Capacity(size);
  MutexLock lock(&mutex_);
  ++home.outside_;
  outstanding_bytes_ += capacity;
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
  return memory;
}

void PartPool::Share(std::span<Home* const> homes, std::span<uint8_t> memory) {
  MutexLock lock(&mutex_);
  for (Home* home : homes) ++home->outside_;
  outstanding_bytes_ += homes.size() * memory.size();
  owners_.at(memory.data()) += static_cast<uint32_t>(homes.size());
}

void PartPool::DropShared(std::span<uint8_t> memory) {
  MutexLock lock(&mutex_);
  ReturnOwn(memory);
}

void PartPool::ReturnOwn(std::span<uint8_t> memory) {
  if (auto shared = owners_.find(memory.data()); shared != owners_.end()) {
    if (--shared->second > 0) return;
    owners_.erase(shared);
  }
  if (free_bytes_ + memory.size() <= keep_bytes_) {
    free_[Class(memory.size())].push_back(memory.data());
    free_bytes_ += memory.size();
  } else {
    memory_->Return(memory.data(), memory.size());
  }
}

void PartPool::Return(Home& home, std::span<uint8_t> memory) {
  std::shared_ptr<PartPool> self;  // Released after the lock: it may be the last owner.
  std::shared_ptr<PartMemory> lent;
  MutexLock lock(&mutex_);
  outstanding_bytes_ -= memory.size();
  if (home.lent_ != nullptr && home.lent_->Holds(memory.data())) {
    home.lent_->Return(memory);
  } else {
    ReturnOwn(memory);
  }
  if (on_return_) on_return_(home.session_, memory.size());
  if (--home.outside_ > 0 || !home.closed_) return;
  self = std::move(home.pool_);
  lent = std::move(home.lent_);
  delete &home;
}

void PartPool::CloseHome(Home& home) {
  std::shared_ptr<PartPool> self;
  std::shared_ptr<PartMemory> lent;
  MutexLock lock(&mutex_);
  home.session_ = nullptr;
  home.closed_ = true;
  if (home.outside_ > 0) return;
  self = std::move(home.pool_);
  lent = std::move(home.lent_);
  delete &home;
}

void PartPool::HomeCloser::operator()(Home* home) const { home->pool_->CloseHome(*home); }

size_t PartPool::outstanding_bytes() const {
  MutexLock lock(&mutex_);
  return outstanding_bytes_;
}

void PartPool::Close() {
  MutexLock lock(&mutex_);
  on_return_ = nullptr;
}

}  // namespace penstock
