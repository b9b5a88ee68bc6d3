#include "trainer/backend/cpu/thread_pool.h"

#include <utility>

#include "base/process/start_thread.h"
#include "base/status.h"

namespace penstock {

absl::StatusOr<std::unique_ptr<ThreadPool>> ThreadPool::Start(size_t threads) {
  std::unique_ptr<ThreadPool> pool(new ThreadPool);
  for (size_t worker = 1; worker < threads; ++worker) {
    PENSTOCK_ASSIGN_OR_RETURN(
        std::jthread thread,
        StartThread("that computes", [it = pool.get(), worker] { it->Serve(worker); }));
    pool->workers_.push_back(std::move(thread));
  }
  return pool;
}

ThreadPool::~ThreadPool() {
  MutexLock lock(&mutex_);
  closing_ = true;
  started_.NotifyAll();
}

void ThreadPool::ParallelFor(size_t count, Body body) {
  {
    MutexLock lock(&mutex_);
    body_ = &body;
    count_ = count;
    busy_ = workers_.size();
    ++loop_;
    next_.store(0, std::memory_order_relaxed);
    started_.NotifyAll();
  }
  TakeIndices(0, body, count);
  MutexLock lock(&mutex_);
  while (busy_ > 0) finished_.Wait(&mutex_);
}

void ThreadPool::TakeIndices(size_t worker, const Body& body, size_t count) {
  for (size_t i = next_.fetch_add(1); i < count; i = next_.fetch_add(1)) body(worker, i);
}

void ThreadPool::Serve(size_t worker) {
  for (uint64_t seen = 0;;) {
    const Body* body = nullptr;
    size_t count = 0;
    {
      MutexLock lock(&mutex_);
      while (!closing_ && loop_ == seen) started_.Wait(&mutex_);
      if (closing_) return;
      seen = loop_;
      body = body_;
      count = count_;
    }
    TakeIndices(worker, *body, count);
    MutexLock lock(&mutex_);
    if (--busy_ == 0) finished_.NotifyOne();
  }
}

}  // namespace penstock
