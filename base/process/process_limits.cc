#include "base/process/process_limits.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>  // Defines __GLIBC__.
#include <fstream>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "absl/strings/str_cat.h"
#include "base/byte_size.h"
#include "base/process/process_stats.h"
#include "base/process/start_thread.h"
#include "base/status.h"

namespace penstock {
namespace {

// Measured: gRPC 1.51 ended a client that could open 1 more descriptor, and a server that could
// open 6 more. 9 are enough for both, and for their first connections.
constexpr uint64_t kDescriptorsOfGrpc = 9;

// The most memory that gRPC and malloc keep in a client (docs/guides/sizing.md).
constexpr uint64_t kBuffersOfGrpc = uint64_t{128} << 20;

uint64_t MappedBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t pages = 0;
  file >> pages;
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

uint64_t StackBytes() {
  pthread_attr_t attributes;
  size_t bytes = 0;
  pthread_attr_init(&attributes);
  pthread_attr_getstacksize(&attributes, &bytes);
  pthread_attr_destroy(&attributes);
  return bytes;
}

absl::Status CheckDescriptors(uint64_t more) {
  const uint64_t limit = DescriptorLimit();
  const uint64_t open = ReadProcessStats().open_files;
  if (open + more <= limit) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "too few file descriptors: the limit is ", limit, ", ", open, " are open, and at least ",
      open + more, " are needed; raise the limit (ulimit -n; systemd's LimitNOFILE)"));
}

}  // namespace

std::optional<uint64_t> AddressSpaceLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

void UseOneArenaUnderAnAddressLimit() {
#if defined(__GLIBC__)
  if (AddressSpaceLimit().has_value()) mallopt(M_ARENA_MAX, 1);
#endif
}

absl::Status CheckAddressSpace(const AddressNeeds& needs, absl::string_view cure) {
  const std::optional<uint64_t> limit = AddressSpaceLimit();
  if (!limit.has_value()) return absl::OkStatus();
  const uint64_t mapped = MappedBytes(), stack = StackBytes();
  const uint64_t needed = mapped + needs.threads * stack + needs.bytes;
  if (needed <= *limit) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "too little address space: the limit is ", FormatByteSize(*limit), ", but ",
      FormatByteSize(needed), " are needed (", FormatByteSize(mapped), " already mapped, ",
      needs.threads, " thread stacks of ", FormatByteSize(stack), ", ", FormatByteSize(needs.bytes),
      " of memory); raise the limit (ulimit -v), or ", cure));
}

absl::Status CheckLimitsForGrpc(uint64_t other_descriptors) {
  static std::atomic<bool> has_them{false};
  if (has_them) return absl::OkStatus();
  PENSTOCK_RETURN_IF_ERROR(CheckDescriptors(kDescriptorsOfGrpc + other_descriptors));
  PENSTOCK_RETURN_IF_ERROR(
      CheckAddressSpace({.threads = ThreadsOfGrpc::Most(), .bytes = kBuffersOfGrpc},
                        "give smaller stacks (ulimit -s)"));
  PENSTOCK_RETURN_IF_ERROR(CheckThreadsOfGrpc());
  has_them = true;
  return absl::OkStatus();
}

}  // namespace penstock
