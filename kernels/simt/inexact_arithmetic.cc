// Every function is off by its whole documented error, up or down as the bits of its argument
// decide: a kernel gives the same result twice, and errors of a row do not cancel.
#include <pmmintrin.h>
#include <xmmintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/numeric/counter_random.h"
#include "kernels/simt/arithmetic.h"
#include "kernels/simt/tensor_core.h"

namespace penstock::simt {
namespace {

// Errors in units of the last place. Exp2: PTX ISA, ex2.approx. The others: CUDA C++ Programming
// Guide, "Mathematical Functions", single precision without --use_fast_math. Its versions give
// Exp 1 or 2.
constexpr uint32_t kExpUnits = 2, kLogUnits = 1, kTanhUnits = 2, kErfcUnits = 4;

// `exact`, rounded to float and then moved by `units` of its last place. Zero, infinity and NaN are
// not moved, because NVIDIA documents the arguments that give them.
float Off(float argument, double exact, uint32_t units) {
  const auto rounded = static_cast<float>(exact);
  const auto bits = std::bit_cast<uint32_t>(rounded), magnitude = bits & 0x7fffffff;
  if (magnitude <= units || magnitude >= 0x7f800000 - units) return rounded;
  const bool up = (RandomBits(0, std::bit_cast<uint32_t>(argument)) & 1) != 0;
  return std::bit_cast<float>(up ? bits + units : bits - units);
}

}  // namespace

const char* ArithmeticName() {
  return __builtin_cpu_supports("fma") ? "emulation with inexact arithmetic" : nullptr;
}
const bool kArithmeticIsInexact = true;

float Exp2(float x) { return x == 0 ? 1.0f : Off(x, std::exp2(double{x}), kExpUnits); }
float Exp(float x) { return x == 0 ? 1.0f : Off(x, std::exp(double{x}), kExpUnits); }
float Log(float x) { return Off(x, std::log(double{x}), kLogUnits); }
float Log2(float x) { return Off(x, std::log2(double{x}), kLogUnits); }
float Tanh(float x) {  // CUDA's is odd and never above 1.
  const float size = std::abs(x);
  return std::copysign(std::min(Off(size, std::tanh(double{size}), kTanhUnits), 1.0f), x);
}
float Erfc(float x) { return Off(x, std::erfc(double{x}), kErfcUnits); }

float AddProducts(float c, const float (&x)[16], const float (&y)[16]) {
  return AddProductsOn(kAmpere, c, x, y);  // It cuts off more than Hopper.
}

KernelArithmetic::KernelArithmetic() : callers_(_mm_getcsr()) {
  _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
  _MM_SET_DENORMALS_ZERO_MODE(_MM_DENORMALS_ZERO_ON);
}
KernelArithmetic::~KernelArithmetic() { _mm_setcsr(callers_); }

}  // namespace penstock::simt
