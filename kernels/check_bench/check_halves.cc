#include <algorithm>

#include "kernels/check_bench/check.h"
#include "kernels/cuda/half.h"

namespace penstock::check_bench {
namespace {

// Values around the limits of fp16, scaled and unscaled (subnormal, largest and infinite), and ties
// of both formats.
std::vector<float> Edges() {
  std::vector<float> values;
  for (float x : {0.0f, 0x1p-25f, 0x1.8p-25f, 0x1p-24f, 0x1.ffcp-15f, 0x1p-14f, 1.0f, 0x1.001p0f,
                  0x1.003p0f, 65504.0f, 65519.0f, 65520.0f, 0x1.01p0f, 0x1.03p0f, 0x1.0102p0f,
                  0x1.fffffep127f, 1e30f, INFINITY}) {
    for (float y : {x, x / kWireScale<Fp16>}) {
      values.push_back(y);
      values.push_back(-y);
    }
  }
  return values;
}

// Compares the GPU with the host's conversions. numeric_test.cc checks those against the formats.
template <typename Half>
void CheckHalves(Checker& checker, std::vector<float> values) {
  DeviceArray<float> from(values), back(values.size());
  DeviceArray<Half> halves(values.size());
  checker.RunTwice([&] { return cuda::Narrow(from.data(), from.size(), halves.data(), nullptr); },
                   halves);
  checker.RunTwice([&] { return cuda::Widen(halves.data(), back.size(), back.data(), nullptr); },
                   back);
  std::vector<Half> expected(values.size());
  std::transform(values.begin(), values.end(), expected.begin(), ToWire<Half>);
  checker.Equal("the host's bits", halves.Read(), expected);
  std::vector<float> widened(values.size());
  std::transform(expected.begin(), expected.end(), widened.begin(),
                 [](Half x) { return FromWire(x); });
  checker.Equal("widening gives back the host's values", back.Read(), widened);
}

// NaNs of various bits stay NaN, and the numbers among them stay unchanged.
template <typename Half>
void CheckNan(Checker& checker) {
  std::vector<float> values(20, 1.0f);
  for (size_t i = 0; i < 4; ++i) {
    constexpr uint32_t kBits[] = {0x7fc00000, 0x7fffffff, 0xff800001, 0x7f800001};
    std::memcpy(&values[3 + 2 * i], &kBits[i], sizeof(float));
  }
  DeviceArray<float> from(values), back(values.size());
  DeviceArray<Half> halves(values.size());
  Require(cuda::Narrow(from.data(), from.size(), halves.data(), nullptr), "narrow");
  Require(cuda::Widen(halves.data(), back.size(), back.data(), nullptr), "widen");
  const auto read = back.Read();
  for (size_t i = 0; i < values.size(); ++i) {
    checker.True("NaN stays NaN", std::isnan(values[i]) ? std::isnan(read[i]) : read[i] == 1.0f);
  }
}

}  // namespace

void CheckHalves(Checker& checker) {
  if (checker.Begin("half/bf16")) CheckHalves<Bf16>(checker, Noise<float>(5003, 1));
  if (checker.Begin("half/fp16")) CheckHalves<Fp16>(checker, Noise<float>(5003, 2));
  if (checker.Begin("half/bf16_edges")) CheckHalves<Bf16>(checker, Edges());
  if (checker.Begin("half/fp16_edges")) CheckHalves<Fp16>(checker, Edges());
  if (checker.Begin("half/bf16_nan")) CheckNan<Bf16>(checker);
  if (checker.Begin("half/fp16_nan")) CheckNan<Fp16>(checker);
  if (checker.Begin("half/fp16_one")) CheckHalves<Fp16>(checker, {1.5f});
}

}  // namespace penstock::check_bench
