#include "trainer/cuda/nccl_aborter.h"

#include <chrono>
#include <utility>

#include "base/process/start_thread.h"
#include "base/status.h"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

// A call that blocks is looked at first after kGrace, then after each kPause.
constexpr std::chrono::milliseconds kGrace{100}, kPause{5};

}  // namespace

absl::StatusOr<std::unique_ptr<NcclAborter>> NcclAborter::Start() {
  std::unique_ptr<NcclAborter> aborter(new NcclAborter);
  PENSTOCK_ASSIGN_OR_RETURN(aborter->thread_, StartThread("that ends a broken exchange",
                                                          [raw = aborter.get()] { raw->Run(); }));
  return aborter;
}

NcclAborter::~NcclAborter() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  Join();
}

bool NcclAborter::Abort(std::function<void()> end) {
  MutexLock lock(&mutex_);
  if (!broken_.ok()) return false;
  end_ = std::move(end);
  changed_.NotifyAll();
  return true;
}

void NcclAborter::Join() {
  if (thread_.joinable()) thread_.join();
}

absl::Status NcclAborter::Guard(absl::FunctionRef<absl::Status()> look, std::function<void()> end,
                                absl::FunctionRef<absl::Status()> call) {
  {
    MutexLock lock(&mutex_);
    watched_.emplace(Watched{look, std::move(end), Clock::now() + kGrace});
    changed_.NotifyAll();
  }
  const absl::Status called = call();
  MutexLock lock(&mutex_);
  watched_.reset();
  return broken_.ok() ? called : broken_;
}

void NcclAborter::Run() {
  if (const std::function<void()> end = NextEnd(); end) end();
}

std::function<void()> NcclAborter::NextEnd() {
  MutexLock lock(&mutex_);
  while (!end_ && !stopping_) {
    if (!watched_.has_value()) {
      changed_.Wait(&mutex_);
      continue;
    }
    if (Clock::now() < watched_->next_look) {
      changed_.WaitUntil(&mutex_, watched_->next_look);
      continue;
    }
    broken_ = watched_->look();
    if (!broken_.ok()) return std::move(watched_->end);
    watched_->next_look = Clock::now() + kPause;
  }
  return std::move(end_);
}

}  // namespace penstock
