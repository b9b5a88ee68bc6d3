#include "trainer/app/end_soon.h"

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "absl/time/clock.h"
#include "records/base/print_escaped.h"
#include "records/base/start_thread.h"

namespace penstock {
namespace {

[[noreturn]] void End(const std::string& message) {
  PrintEscaped(stderr, "%s\n", message);
  std::fflush(nullptr);
  std::_Exit(1);
}

}  // namespace

void EndProcessWithin(absl::Duration limit, const std::string& message) {
  auto thread = StartThread("that ends the process", [limit, message] {
    absl::SleepFor(limit);
    End(message);
  });
  if (!thread.ok()) End(message);
  thread->detach();
}

}  // namespace penstock
