#include <cmath>

#include "kernels/simt/arithmetic.h"

namespace penstock::simt {

const char* ArithmeticName() { return "emulation"; }
const bool kArithmeticIsInexact = false;

float Exp2(float x) { return std::exp2(x); }
float Exp(float x) { return std::exp(x); }
float Log(float x) { return std::log(x); }
float Log2(float x) { return std::log2(x); }
float Tanh(float x) { return std::tanh(x); }
float Erfc(float x) { return std::erfc(x); }

float AddProducts(float c, const float (&x)[16], const float (&y)[16]) {
  float sum = 0;
  for (unsigned k = 0; k < 16; k += 2) sum += x[k] * y[k] + x[k + 1] * y[k + 1];
  return c + sum;
}

KernelArithmetic::KernelArithmetic() : callers_(0) {}
KernelArithmetic::~KernelArithmetic() = default;

}  // namespace penstock::simt
