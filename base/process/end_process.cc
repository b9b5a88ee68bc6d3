#include "base/process/end_process.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/print_escaped.h"
#include "base/process/start_thread.h"
#include "base/status.h"

namespace penstock {
namespace {

std::atomic<int> exit_code_of_alarm{1};

// Ends the process after kSecondsToSayWhy, in case the calling thread hangs.
void SetAlarm(int exit_code) {
  exit_code_of_alarm = exit_code;
  signal(SIGALRM, [](int) { std::_Exit(exit_code_of_alarm); });
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGALRM);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  alarm(LastThread::kSecondsToSayWhy);
}

void Print(const std::string& message) { PrintEscaped(stderr, "%s\n", message); }

}  // namespace

void EndProcessWithin(absl::Duration limit, const std::string& message) {
  const absl::StatusOr<LastThread*> last = LastThread::Start(1, Print);
  if (!last.ok()) {
    Print(message);
    std::_Exit(1);
  }
  (*last)->Doing(message);
  (*last)->EndWithin(limit);
}

absl::StatusOr<LastThread*> LastThread::Start(int exit_code,
                                              std::function<void(const std::string&)> say) {
  std::unique_ptr<LastThread> last(new LastThread(exit_code, std::move(say)));
  PENSTOCK_ASSIGN_OR_RETURN(std::jthread thread,
                            StartThread("that ends the process", [it = last.get()] { it->Run(); }));
  thread.detach();
  return last.release();
}

LastThread::LastThread(int exit_code, std::function<void(const std::string&)> say)
    : exit_code_(exit_code), say_(std::move(say)) {}

void LastThread::Doing(absl::string_view what) {
  MutexLock lock(&mutex_);
  doing_ = std::string(what);
}

void LastThread::EndWithin(absl::Duration limit) {
  const auto end = std::chrono::steady_clock::now() + absl::ToChronoMilliseconds(limit);
  MutexLock lock(&mutex_);
  if (!deadline_.has_value() || end < *deadline_) deadline_ = end;
  changed_.NotifyAll();
}

void LastThread::Run() {
  const std::string doing = WaitForDeadline();
  SetAlarm(exit_code_);
  say_(doing);
  std::fflush(nullptr);
  std::_Exit(exit_code_);
}

std::string LastThread::WaitForDeadline() {
  MutexLock lock(&mutex_);
  while (!deadline_.has_value()) changed_.Wait(&mutex_);
  while (changed_.WaitUntil(&mutex_, *deadline_) || std::chrono::steady_clock::now() < *deadline_) {
  }
  return doing_;
}

}  // namespace penstock
