#include "records/base/start_thread.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "records/base/mutex.h"
#include "records/base/process_stats.h"
#include "records/base/status.h"

namespace penstock {
namespace {

std::string LimitText() {
  rlimit limit{};
  getrlimit(RLIMIT_NPROC, &limit);
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : absl::StrCat(limit.rlim_cur);
}

// It starts 8 on 2 cores, more on more. The rest is for others, and for those of the check, which
// count until the kernel is done with them.
size_t ThreadsOfGrpc() { return 16 + std::clamp(std::thread::hardware_concurrency(), 2u, 32u); }

}  // namespace

absl::Status NoThreadError(absl::string_view what, const std::error_code& reason) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "no thread ", what, " can be started: ", reason.message(), "; this process has ",
      ReadProcessStats().threads, ": raise the limit of threads (ulimit -u, of all of this user: ",
      LimitText(), "; the container's pids limit) or of address space (ulimit -v)"));
}

absl::Status CheckThreadsOfGrpc() {
  static std::atomic<bool> has_them{false};
  if (has_them) return absl::OkStatus();
  Mutex until_all_are_there;
  std::vector<std::jthread> threads;
  MutexLock lock(&until_all_are_there);
  while (threads.size() < ThreadsOfGrpc()) {
    PENSTOCK_ASSIGN_OR_RETURN(std::jthread thread, StartThread("of gRPC", [&until_all_are_there] {
                                MutexLock wait(&until_all_are_there);
                              }));
    threads.push_back(std::move(thread));
  }
  has_them = true;
  return absl::OkStatus();
}

}  // namespace penstock
