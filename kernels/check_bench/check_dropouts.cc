#include <algorithm>
#include <utility>

#include "kernels/check_bench/check.h"
#include "kernels/cuda/dropout.h"

namespace penstock::check_bench {
namespace {

constexpr uint64_t kKey = 0x5851f42d4c957f2d;
// The first sample. From here, indices need more than 32 bits, and with samples of one value they
// cross a multiple of 2^32.
constexpr uint64_t kFirst = (uint64_t{3} << 32) - 5;

// The reference's result for the same values, in float.
template <typename T>
std::vector<T> Expected(const std::vector<T>& x, const Dropout& dropout, size_t width) {
  std::vector<float> values(x.size());
  std::transform(x.begin(), x.end(), values.begin(), [](T value) { return ToFloat(value); });
  reference::DropOut(values.data(), dropout, kKey, kFirst * width, values.size(), values.data());
  std::vector<T> y(x.size());
  std::transform(values.begin(), values.end(), y.begin(),
                 [](float value) { return FromFloat<T>(value); });
  return y;
}

// Runs the kernel into a separate array, then in place.
template <typename T>
void CheckRate(Checker& checker, double rate, size_t samples, size_t width) {
  checker.Shape({{"samples", samples}, {"width", width}, {"rate", rate}});
  const size_t count = samples * width;
  const Dropout dropout = Dropout::OfRate(rate);
  DeviceArray<T> x(Noise<T>(count, 1, 6.0)), y(count);
  DeviceArray<DropoutDraw> draw(std::vector<DropoutDraw>{{kKey, kFirst}});
  auto check = [&](const std::string& what, DeviceArray<T>& out) {
    checker.RunTwice(
        [&] {
          return cuda::DropOut(x.data(), dropout, draw.data(), samples, width, out.data(), nullptr);
        },
        out);
    checker.SameBits(what, out.Read(), Expected(x.initial(), dropout, width));
  };
  check("y", y);
  check("in place", x);
}

template <typename T>
void CheckInactive(Checker& checker) {
  DeviceArray<T> x(Noise<T>(37, 1)), y(37);
  checker.RunTwice(
      [&] { return cuda::DropOut<T>(x.data(), Dropout{}, nullptr, 1, 37, y.data(), nullptr); }, y);
  checker.SameBits("a copy, without a DropoutDraw", y.Read(), x.initial());
}

template <typename T>
void CheckAll(Checker& checker) {
  const std::string of = "dropout/" + std::string(NameOf<T>()) + "/";
  // These sizes are not whole vectors or whole blocks. On the emulation, a thread takes several
  // vectors of the larger sizes.
  for (const auto& [samples, width] : {std::pair{1, 1}, {7, 1}, {3, 4096}, {37, 333}}) {
    if (!checker.Begin(of + std::to_string(samples) + "x" + std::to_string(width))) continue;
    CheckRate<T>(checker, 0.1, samples, width);
    CheckRate<T>(checker, 0.5, samples, width);
  }
  if (checker.Begin(of + "inactive")) CheckInactive<T>(checker);
}

void CheckRefused(Checker& checker) {
  const Dropout dropout = Dropout::OfRate(0.5);
  DeviceArray<float> x(16);
  DeviceArray<DropoutDraw> draw(1);
  checker.True("an address between vectors",
               cuda::DropOut(x.data() + 1, dropout, draw.data(), 1, 8, x.data(), nullptr) ==
                   cudaErrorInvalidValue);
  checker.True(
      "dropout without a DropoutDraw",
      cuda::DropOut(x.data(), dropout, nullptr, 1, 8, x.data(), nullptr) == cudaErrorInvalidValue);
}

}  // namespace

void CheckDropouts(Checker& checker) {
  CheckAll<float>(checker);
  CheckAll<Bf16>(checker);
  if (checker.Begin("dropout/refused")) CheckRefused(checker);
}

}  // namespace penstock::check_bench
