#include "kernels/simt/fiber.h"

#include <cstdint>
#include <cstdlib>
#include <utility>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PENSTOCK_ASAN
#endif
#if __has_feature(thread_sanitizer)
#define PENSTOCK_TSAN
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define PENSTOCK_ASAN
#endif
#if defined(__SANITIZE_THREAD__)
#define PENSTOCK_TSAN
#endif

// NOLINTBEGIN: the sanitizers' names.
#if defined(PENSTOCK_ASAN)
#include <sanitizer/common_interface_defs.h>
#else
static void __sanitizer_start_switch_fiber(void**, const void*, size_t) {}
static void __sanitizer_finish_switch_fiber(void*, const void**, size_t*) {}
#endif
#if defined(PENSTOCK_TSAN)
#include <sanitizer/tsan_interface.h>
// Marks the functions that a finished fiber never leaves. If they were instrumented, each start
// would leave a few calls on the stack that TSan keeps for the fiber.
#define PENSTOCK_NOT_SEEN_BY_TSAN __attribute__((disable_sanitizer_instrumentation))
#else
#define PENSTOCK_NOT_SEEN_BY_TSAN
static void* __tsan_get_current_fiber() { return nullptr; }
static void* __tsan_create_fiber(unsigned) { return nullptr; }
static void __tsan_destroy_fiber(void*) {}
static void __tsan_switch_to_fiber(void*, unsigned) {}
#endif
// NOLINTEND

// Saves the stack pointer and the registers that a call preserves at *from; restores those at `to`.
extern "C" void penstock_switch_stack(void** from, void* to);
asm(R"(
.text
.globl penstock_switch_stack
.type penstock_switch_stack, @function
penstock_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size penstock_switch_stack, . - penstock_switch_stack
)");

namespace penstock::simt {
namespace {

Fiber* starting = nullptr;

}  // namespace

Fiber::Fiber() : stack_(new char[kStackBytes]), own_thread_(__tsan_create_fiber(0)) {}

Fiber::~Fiber() { __tsan_destroy_fiber(own_thread_); }

void Fiber::Start(std::function<void()> body) {
  body_ = std::move(body);
  done_ = false;
  // The stack holds six registers, then, at a multiple of 16, the address that the first switch
  // returns to.
  auto top = reinterpret_cast<uintptr_t>(stack_.get() + kStackBytes) / 16 * 16;
  auto* words = reinterpret_cast<void**>(top - 16);
  words[1] = nullptr;  // Return address of Enter(), which never returns.
  words[0] = reinterpret_cast<void*>(&Fiber::Enter);
  for (int i = 1; i <= 6; ++i) words[-i] = nullptr;
  own_ = words - 6;
}

void Fiber::Resume() {
  starting = this;
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, stack_.get(), kStackBytes);
  caller_thread_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(own_thread_, 0);
  penstock_switch_stack(&caller_, own_);
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
}

PENSTOCK_NOT_SEEN_BY_TSAN void Fiber::GiveWay() {
  __sanitizer_start_switch_fiber(done_ ? nullptr : &own_fake_stack_, caller_stack_,
                                 caller_stack_bytes_);
  __tsan_switch_to_fiber(caller_thread_, 0);
  penstock_switch_stack(&own_, caller_);
  __sanitizer_finish_switch_fiber(own_fake_stack_, &caller_stack_, &caller_stack_bytes_);
}

PENSTOCK_NOT_SEEN_BY_TSAN void Fiber::Enter() { starting->Run(); }

PENSTOCK_NOT_SEEN_BY_TSAN void Fiber::Run() {
  __sanitizer_finish_switch_fiber(nullptr, &caller_stack_, &caller_stack_bytes_);
  body_();
  done_ = true;
  GiveWay();
  std::abort();  // A finished fiber is never resumed.
}

}  // namespace penstock::simt
