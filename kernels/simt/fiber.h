// A function with its own stack, which runs until it gives way.
#ifndef PENSTOCK_KERNELS_SIMT_FIBER_H_
#define PENSTOCK_KERNELS_SIMT_FIBER_H_

#include <cstddef>
#include <functional>
#include <memory>

namespace penstock::simt {

// Not thread-safe: all fibers run on one thread of the program. x86-64 only.
class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Starts over with `body`, which Resume() then runs. REQUIRES: done().
  void Start(std::function<void()> body);
  // Runs the body until it gives way or returns. REQUIRES: !done().
  void Resume();
  // Called by the body: returns to Resume().
  void GiveWay();
  bool done() const { return done_; }

 private:
  static void Enter();
  void Run();

  static constexpr size_t kStackBytes = 128 * 1024;
  std::unique_ptr<char[]> stack_;
  std::function<void()> body_;
  bool done_ = true;
  // The saved stack pointers of the fiber and of its caller. Only the one of the side that is not
  // running is valid.
  void* own_ = nullptr;
  void* caller_ = nullptr;
  // Used only by AddressSanitizer.
  void* own_fake_stack_ = nullptr;
  const void* caller_stack_ = nullptr;
  size_t caller_stack_bytes_ = 0;
  // Used only by ThreadSanitizer, which sees each stack as a thread.
  void* own_thread_;
  void* caller_thread_ = nullptr;
};

}  // namespace penstock::simt

#endif  // PENSTOCK_KERNELS_SIMT_FIBER_H_
