// The emulation's arithmetic, as far as a GPU's differs from a CPU's. A program links one of two:
// exact_arithmetic.cc, whose errors are as small as a float allows, or inexact_arithmetic.cc, whose
// errors are as large as NVIDIA's documentation allows.
#ifndef PENSTOCK_KERNELS_SIMT_ARITHMETIC_H_
#define PENSTOCK_KERNELS_SIMT_ARITHMETIC_H_

namespace penstock::simt {

// The name of this arithmetic, or null if this CPU cannot run it.
const char* ArithmeticName();
extern const bool kArithmeticIsInexact;

float Exp2(float x);
float Exp(float x);
float Log(float x);
float Log2(float x);
float Tanh(float x);
float Erfc(float x);

// c plus the products of 16 pairs of bf16 values, as a tensor core adds them.
float AddProducts(float c, const float (&x)[16], const float (&y)[16]);

// Lives while kernels run. Inexact arithmetic then reads and writes subnormal numbers as zeros.
class KernelArithmetic {
 public:
  KernelArithmetic();
  ~KernelArithmetic();
  KernelArithmetic(const KernelArithmetic&) = delete;
  KernelArithmetic& operator=(const KernelArithmetic&) = delete;

 private:
  [[maybe_unused]] unsigned callers_;  // The control register of the caller.
};

}  // namespace penstock::simt

#endif  // PENSTOCK_KERNELS_SIMT_ARITHMETIC_H_
