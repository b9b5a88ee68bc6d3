#include "records/engine/strip_cache.h"

#include <iterator>
#include <utility>

namespace penstock {
namespace {

BlockResult CopyOf(const BlockResult& result) {
  return {Unshared(result.error), result.replaced, result.image_notes};
}

}  // namespace

StripCache::~StripCache() {
  MutexLock lock(&mutex_);
  for (const Block& block : blocks_) pool_.DropShared(block.memory);
}

StripCache::Answer StripCache::Claim(const Key& key, std::span<const Job> jobs,
                                     std::span<uint8_t>& memory, BlockResult& result) {
  MutexLock lock(&mutex_);
  if (auto found = index_.find(key); found != index_.end()) {
    Block& block = *found->second;
    if (!block.ready) {
      block.waiting.insert(block.waiting.end(), jobs.begin(), jobs.end());
      return Answer::kWaiting;
    }
    blocks_.splice(blocks_.begin(), blocks_, found->second);
    ++block.users;
    memory = block.memory;
    result = CopyOf(block.result);
    return Answer::kReady;
  }
  const Job& job = jobs.front();
  MakeRoom(PartPool::Capacity(job.decoded_bytes()));
  memory = pool_.TakeShared(job.decoded_bytes());
  bytes_ += memory.size();
  blocks_.push_front({.key = key,
                      .memory = memory,
                      .result = {},
                      .users = 1,
                      .rows = job.block.rows,
                      .use = job.request->decoding->use,
                      .waiting = {}});
  index_.emplace(key, blocks_.begin());
  if (auto before = dropped_.find(key); before != dropped_.end()) {
    blocks_.front().rows_sent = before->second;
    dropped_.erase(before);
  }
  return Answer::kDecode;
}

void StripCache::Publish(const Key& key, std::vector<Job>& jobs, const BlockResult& result) {
  MutexLock lock(&mutex_);
  Block& block = *index_.at(key);
  block.ready = true;
  block.result = CopyOf(result);
  jobs.insert(jobs.end(), block.waiting.begin(), block.waiting.end());
  block.waiting = {};
}

void StripCache::Release(const Key& key, uint64_t rows) {
  MutexLock lock(&mutex_);
  const Blocks::iterator block = index_.at(key);
  --block->users;
  block->rows_sent += rows;
  if (block->done()) Drop(block);
  // The oldest blocks may have been sent often enough before it was known how many times that is.
  while (!blocks_.empty() && blocks_.back().done()) Drop(std::prev(blocks_.end()));
  MakeRoom(0);
}

void StripCache::MakeRoom(size_t more) {
  for (auto it = blocks_.end(); bytes_ + more > budget_bytes_ && it != blocks_.begin();) {
    if ((--it)->users == 0) it = Drop(it);
  }
}

StripCache::Blocks::iterator StripCache::Drop(Blocks::iterator block) {
  block->use->Dropped(block->times_sent());
  if (dropped_.size() >= kMaxDropped) dropped_.clear();
  dropped_[block->key] = block->rows_sent;
  bytes_ -= block->memory.size();
  pool_.DropShared(block->memory);
  index_.erase(block->key);
  return blocks_.erase(block);
}

size_t StripCache::bytes() const {
  MutexLock lock(&mutex_);
  return bytes_;
}

}  // namespace penstock
