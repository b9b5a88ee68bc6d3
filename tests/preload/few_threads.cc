// For LD_PRELOAD: starts only the first PENSTOCK_TEST_THREADS of a program's std::threads and
// std::jthreads, as if at a limit. Other threads, such as gRPC's, all start.
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <utility>

namespace std {

void thread::_M_start_thread(_State_ptr state, void (*depend)()) {
  static atomic<int> left{atoi(getenv("PENSTOCK_TEST_THREADS"))};
  if (left.fetch_sub(1) <= 0) {
    throw system_error(make_error_code(errc::resource_unavailable_try_again));
  }
  using Start = void (*)(thread*, _State_ptr, void (*)());
  static const auto start = reinterpret_cast<Start>(dlsym(
      RTLD_NEXT,
      "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE"));
  start(this, move(state), depend);
}

}  // namespace std
