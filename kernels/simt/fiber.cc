#include "kernels/simt/fiber.h"

#include <cstdint>
#include <cstdlib>
#include <utility>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PENSTOCK_ASAN
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define PENSTOCK_ASAN
#endif

#if defined(PENSTOCK_ASAN)
#include <sanitizer/common_interface_defs.h>
#else
// NOLINTBEGIN: the sanitizer's names.
static void __sanitizer_start_switch_fiber(void**, const void*, size_t) {}
static void __sanitizer_finish_switch_fiber(void*, const void**, size_t*) {}
// NOLINTEND
#endif

// Saves the registers that a call preserves and the stack pointer at *from, takes those at `to`.
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

Fiber::Fiber() : stack_(new char[kStackBytes]) {}

void Fiber::Start(std::function<void()> body) {
  body_ = std::move(body);
  done_ = false;
  // Six registers, then the address that the first switch returns to, at a multiple of 16.
  auto top = reinterpret_cast<uintptr_t>(stack_.get() + kStackBytes) / 16 * 16;
  auto* words = reinterpret_cast<void**>(top - 16);
  words[1] = nullptr;  // Where Enter() would return to, if it did.
  words[0] = reinterpret_cast<void*>(&Fiber::Enter);
  for (int i = 1; i <= 6; ++i) words[-i] = nullptr;
  own_ = words - 6;
}

void Fiber::Resume() {
  starting = this;
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, stack_.get(), kStackBytes);
  penstock_switch_stack(&caller_, own_);
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
}

void Fiber::GiveWay() {
  __sanitizer_start_switch_fiber(done_ ? nullptr : &own_fake_stack_, caller_stack_,
                                 caller_stack_bytes_);
  penstock_switch_stack(&own_, caller_);
  __sanitizer_finish_switch_fiber(own_fake_stack_, &caller_stack_, &caller_stack_bytes_);
}

void Fiber::Enter() { starting->Run(); }

void Fiber::Run() {
  __sanitizer_finish_switch_fiber(nullptr, &caller_stack_, &caller_stack_bytes_);
  body_();
  done_ = true;
  GiveWay();
  std::abort();  // A fiber that is done is not resumed.
}

}  // namespace penstock::simt
