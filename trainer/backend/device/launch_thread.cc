#include "trainer/backend/device/launch_thread.h"

#include <chrono>
#include <utility>

#include "base/process/start_thread.h"

namespace penstock {
namespace {

// A launch takes a few microseconds. Waking a caller that sleeps until its end would take several
// times that (bench/host_step_bench.cc), so the caller spins this long first.
constexpr std::chrono::microseconds kStaysAwake(50);

}  // namespace

LaunchThread::LaunchThread() {
  auto thread = StartThread("that gives a device its work", [this] { Serve(); });
  if (thread.ok()) thread_ = *std::move(thread);
}

LaunchThread::~LaunchThread() {
  MutexLock lock(&mutex_);
  closed_ = true;
  changed_.NotifyAll();
}

absl::Status LaunchThread::Run(absl::FunctionRef<absl::Status()> work) {
  if (!thread_.joinable()) return work();
  {
    MutexLock lock(&mutex_);
    work_ = &work;
    has_work_.store(true, std::memory_order_relaxed);
    changed_.NotifyAll();
  }
  const auto sleeps_at = std::chrono::steady_clock::now() + kStaysAwake;
  while (has_work_.load(std::memory_order_relaxed) &&
         std::chrono::steady_clock::now() < sleeps_at) {
  }
  MutexLock lock(&mutex_);
  while (work_ != nullptr) changed_.Wait(&mutex_);
  return std::move(result_);
}

void LaunchThread::Serve() {
  for (;;) {
    const absl::FunctionRef<absl::Status()>* work = nullptr;
    {
      MutexLock lock(&mutex_);
      while (work_ == nullptr && !closed_) changed_.Wait(&mutex_);
      if (work_ == nullptr) return;
      work = work_;
    }
    absl::Status result = (*work)();
    MutexLock lock(&mutex_);
    result_ = std::move(result);
    work_ = nullptr;
    has_work_.store(false, std::memory_order_relaxed);
    changed_.NotifyAll();
  }
}

}  // namespace penstock
