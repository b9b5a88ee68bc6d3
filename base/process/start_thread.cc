#include "base/process/start_thread.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/process/control_groups.h"
#include "base/process/process_stats.h"
#include "base/status.h"

namespace penstock {
namespace {

std::string LimitText() {
  rlimit limit{};
  getrlimit(RLIMIT_NPROC, &limit);
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : absl::StrCat(limit.rlim_cur);
}

// The smallest pids.max of the process's control group and the groups around it.
std::string GroupLimitText() {
  std::optional<uint64_t> least;
  for (const std::string& folder : ControlGroupFolders("/sys/fs/cgroup", "/proc/self/cgroup")) {
    const std::optional<uint64_t> most = ReadNumber(folder + "/pids.max");
    if (most.has_value()) least = std::min(*most, least.value_or(*most));
  }
  return least.has_value() ? absl::StrCat(*least) : "unlimited";
}

}  // namespace

absl::Status NoThreadError(absl::string_view what, const std::error_code& reason) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "cannot start a thread ", what, ": ", reason.message(), "; this process has ",
      ReadProcessStats().threads,
      " threads. Raise the limit of threads (ulimit -u, for all processes of this user: ",
      LimitText(), "; pids.max, for all processes of the container: ", GroupLimitText(),
      ") or of address space (ulimit -v)"));
}

// gRPC starts 8 threads on 2 cores, and more on more cores. The rest is a reserve for other
// threads, and for the reserved threads themselves, which count until the kernel has removed them.
size_t ThreadsOfGrpc::Most() {
  return 16 + std::clamp(std::thread::hardware_concurrency(), 2u, 32u);
}

absl::StatusOr<std::unique_ptr<ThreadsOfGrpc>> ThreadsOfGrpc::Reserve() {
  std::unique_ptr<ThreadsOfGrpc> reserved(new ThreadsOfGrpc);
  while (reserved->threads_.size() < Most()) {
    absl::StatusOr<std::jthread> thread =
        StartThread("of gRPC", [end = &reserved->end_] { end->wait(); });
    if (!thread.ok()) {
      return Annotate(thread.status(), absl::StrCat("gRPC may need ", Most(), " threads"));
    }
    reserved->threads_.push_back(*std::move(thread));
  }
  return reserved;
}

ThreadsOfGrpc::~ThreadsOfGrpc() { end_.count_down(); }

absl::Status CheckThreadsOfGrpc() {
  static std::atomic<bool> has_them{false};
  if (has_them) return absl::OkStatus();
  PENSTOCK_RETURN_IF_ERROR(ThreadsOfGrpc::Reserve().status());
  has_them = true;
  return absl::OkStatus();
}

}  // namespace penstock
