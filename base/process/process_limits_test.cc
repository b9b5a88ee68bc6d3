#include "base/process/process_limits.h"

#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sanitized.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

void Allow(__rlimit_resource resource, rlim_t value) {
  const rlimit limit = {value, value};
  if (setrlimit(resource, &limit) != 0) std::abort();
}

[[noreturn]] void EndWith(const absl::Status& status) {
  std::fputs(status.ToString().c_str(), stderr);
  std::_Exit(status.ok() ? 0 : absl::IsResourceExhausted(status) ? 1 : 2);
}

TEST(ProcessLimitsDeathTest, TellsThatGrpcWouldGetNoDescriptors) {
  EXPECT_EXIT(
      {
        Allow(RLIMIT_NOFILE, 8);
        EndWith(CheckLimitsForGrpc());
      },
      testing::ExitedWithCode(1),
      "too few file descriptors: the limit is 8, [0-9]+ are open, and at least [0-9]+ are needed; "
      "raise "
      "the limit .ulimit -n;");
}

#if !defined(PENSTOCK_SANITIZED)  // Sanitizers map more than any limit here.
TEST(ProcessLimitsDeathTest, TellsThatAddressesAreTooFew) {
  EXPECT_EXIT(
      {
        Allow(RLIMIT_AS, rlim_t{1} << 30);
        EndWith(CheckAddressSpace({.threads = 3, .bytes = 1 << 30}, "do less"));
      },
      testing::ExitedWithCode(1),
      "too little address space: the limit is 1.0 GiB, but 1.* GiB are needed .* 3 thread stacks "
      "of "
      ".*, 1.0 GiB of memory.; raise the limit .ulimit -v., or do less");
}

TEST(ProcessLimitsDeathTest, EnoughAddressesAreEnough) {
  EXPECT_EXIT(
      {
        Allow(RLIMIT_AS, rlim_t{4} << 30);
        EndWith(CheckAddressSpace({.threads = 3, .bytes = 1 << 20}, "do less"));
      },
      testing::ExitedWithCode(0), "OK");
}
#endif

TEST(ProcessLimitsTest, WithoutALimitNothingIsTooMuch) {
  if (AddressSpaceLimit().has_value()) GTEST_SKIP();
  EXPECT_OK(CheckAddressSpace({.bytes = uint64_t{1} << 60}, ""));
}

}  // namespace
}  // namespace penstock
