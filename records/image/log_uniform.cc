#include "records/image/log_uniform.h"

#include <cmath>

namespace penstock {
namespace {

// ln 2 in two parts, so that n * kLn2High is exact (Cody and Waite).
constexpr double kLn2High = 0x1.62e42feep-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kLog2E = 0x1.71547652b82fep0;

}  // namespace

// x = m * 2^n with m in [sqrt(1/2), sqrt(2)); log(m) = 2 atanh(s), s = (m - 1) / (m + 1) <= 0.172.
double PortableLog(double x) {
  int n = 0;
  double m = std::frexp(x, &n);
  if (m < 0x1.6a09e667f3bcdp-1) {
    m *= 2;
    --n;
  }
  const double s = (m - 1) / (m + 1), square = s * s;
  double sum = 0;
  for (int k = 21; k >= 3; k -= 2) sum = (sum + 1.0 / k) * square;
  return n * kLn2High + (n * kLn2Low + 2 * (s + s * sum));
}

// x = n ln 2 + r with |r| <= ln 2 / 2; exp(r) is computed by its series.
double PortableExp(double x) {
  const double n = std::floor(x * kLog2E + 0.5);
  const double r = (x - n * kLn2High) - n * kLn2Low;
  double sum = 1;
  for (int k = 14; k >= 1; --k) sum = 1 + sum * r / k;
  return std::ldexp(sum, static_cast<int>(n));
}

double LogUniform(double min, double max, double uniform) {
  const double log_min = PortableLog(min);
  return PortableExp(log_min + (PortableLog(max) - log_min) * uniform);
}

}  // namespace penstock
