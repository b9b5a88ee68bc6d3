#include "records/engine/part_pool.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace penstock {
namespace {

// Only this many of the last returned pieces are likely to be in a cache.
constexpr size_t kRecent = 8;

}  // namespace

PartPool::~PartPool() {
  MutexLock lock(&mutex_);
  for (size_t i = 0; i < kClasses; ++i) {
    for (const Free& free : free_[i]) memory_->Return(free.memory, kMinBytes << i);
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
  return TakeFree(size);
}

std::span<uint8_t> PartPool::TakeFree(size_t size, std::thread::id taker) {
  const size_t capacity = Capacity(size);
  std::vector<Free>& list = free_[Class(size)];
  if (list.empty()) return {memory_->Take(capacity), capacity};
  const auto oldest = list.rbegin() + static_cast<ptrdiff_t>(std::min(list.size(), kRecent));
  auto found = std::find_if(list.rbegin(), oldest,
                            [taker](const Free& free) { return free.taker == taker; });
  if (found != oldest) std::swap(*found, list.back());
  uint8_t* memory = list.back().memory;
  list.pop_back();
  free_bytes_ -= capacity;
  return {memory, capacity};
}

std::span<uint8_t> PartPool::TakeShared(size_t size) {
  MutexLock lock(&mutex_);
  const std::thread::id taker = std::this_thread::get_id();
  const std::span<uint8_t> memory = TakeFree(size, taker);
  shared_.emplace(memory.data(), SharedUse{.taker = taker});
  shared_bytes_ += memory.size();
  return memory;
}

void PartPool::Share(std::span<Home* const> homes, size_t reserved, std::span<uint8_t> memory) {
  MutexLock lock(&mutex_);
  for (Home* home : homes) ++home->outside_;
  SharedUse& use = shared_.at(memory.data());
  const size_t counted = use.parts > 0 ? reserved : reserved - 1;
  use.parts += static_cast<uint32_t>(homes.size());
  if (counted > 0) Subtract(counted * memory.size());
}

void PartPool::DropShared(std::span<uint8_t> memory) {
  MutexLock lock(&mutex_);
  SharedUse& use = shared_.at(memory.data());
  use.kept = false;
  if (use.parts == 0) FreeShared(memory);
}

size_t PartPool::MostFree() const {
  return keep_bytes_ + most_shared_bytes_ - std::min(shared_bytes_, most_shared_bytes_);
}

void PartPool::Keep(std::span<uint8_t> memory, std::thread::id taker) {
  if (free_bytes_ + memory.size() <= MostFree()) {
    free_[Class(memory.size())].push_back({memory.data(), taker});
    free_bytes_ += memory.size();
  } else {
    memory_->Return(memory.data(), memory.size());
  }
}

void PartPool::FreeShared(std::span<uint8_t> memory) {
  const auto use = shared_.find(memory.data());
  const std::thread::id taker = use->second.taker;
  shared_.erase(use);
  shared_bytes_ -= memory.size();
  Keep(memory, taker);
}

size_t PartPool::ReturnPart(std::span<uint8_t> memory) {
  auto found = shared_.find(memory.data());
  if (found == shared_.end()) {
    Keep(memory);
    return memory.size();
  }
  if (--found->second.parts > 0) return 0;
  if (!found->second.kept) FreeShared(memory);
  return memory.size();
}

void PartPool::Subtract(size_t bytes) {
  if (ledger_.Subtract(bytes) && on_return_) on_return_();
}

// The last outstanding part may be the pool's only owner, and so may any other part once the lock
// is free.
void PartPool::Return(Home& home, std::span<uint8_t> memory) {
  std::shared_ptr<PartPool> self;  // Released after the lock, like lent memory.
  std::shared_ptr<PartMemory> lent;
  home.part_bytes_.fetch_sub(memory.size());
  MutexLock lock(&mutex_);
  if (home.lent_ != nullptr && home.lent_->Holds(memory.data())) {
    home.lent_->Return(memory);
    Subtract(memory.size());
  } else {
    Subtract(ReturnPart(memory));
  }
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
