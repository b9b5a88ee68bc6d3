#include "kernels/cuda/dropout.h"
#include "kernels/runner/check.h"

namespace penstock::runner {
namespace {

constexpr uint64_t kKey = 0x5851f42d4c957f2d;
// Indices need more than 32 bits, and cross a multiple of 2^32.
constexpr uint64_t kFirst = (uint64_t{3} << 32) - 5;

// What the reference makes of the same values in float.
template <typename T>
std::vector<T> Expected(const std::vector<T>& x, const Dropout& dropout) {
  std::vector<float> values(x.size());
  std::transform(x.begin(), x.end(), values.begin(), [](T value) { return ToFloat(value); });
  reference::DropOut(values.data(), dropout, kKey, kFirst, values.size(), values.data());
  std::vector<T> y(x.size());
  std::transform(values.begin(), values.end(), y.begin(),
                 [](float value) { return FromFloat<T>(value); });
  return y;
}

template <typename T>
bool SameBits(const std::vector<T>& a, const std::vector<T>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

// Into an array of its own, then in place.
template <typename T>
void CheckRate(Checker& checker, double rate, size_t count) {
  const Dropout dropout = Dropout::OfRate(rate);
  DeviceArray<T> x(Noise<T>(count, 1, 6.0)), y(count);
  DeviceArray<uint64_t> key(std::vector<uint64_t>{kKey});
  auto check = [&](const std::string& what, DeviceArray<T>& out) {
    checker.RunTwice(
        [&] {
          return cuda::DropOut(x.data(), dropout, key.data(), kFirst, count, out.data(), nullptr);
        },
        out);
    checker.True(what, SameBits(out.Read(), Expected(x.initial(), dropout)));
  };
  check("y", y);
  check("in place", x);
}

template <typename T>
void CheckInactive(Checker& checker) {
  DeviceArray<T> x(Noise<T>(37, 1)), y(37);
  checker.RunTwice(
      [&] { return cuda::DropOut<T>(x.data(), Dropout{}, nullptr, kFirst, 37, y.data(), nullptr); },
      y);
  checker.True("a copy, without a key", SameBits(y.Read(), x.initial()));
}

template <typename T>
void CheckAll(Checker& checker) {
  const std::string of = "dropout/" + std::string(NameOf<T>()) + "/";
  // Past the last whole vector and the last whole block; several vectors a thread where emulated.
  for (size_t count : {1, 7, 3 * 4096 + 8 + 3}) {
    if (!checker.Begin(of + std::to_string(count))) continue;
    CheckRate<T>(checker, 0.1, count);
    CheckRate<T>(checker, 0.5, count);
  }
  if (checker.Begin(of + "inactive")) CheckInactive<T>(checker);
}

void CheckRefused(Checker& checker) {
  const Dropout dropout = Dropout::OfRate(0.5);
  DeviceArray<float> x(16);
  DeviceArray<uint64_t> key(1);
  checker.True("an address between vectors",
               cuda::DropOut(x.data() + 1, dropout, key.data(), 0, 8, x.data(), nullptr) ==
                   cudaErrorInvalidValue);
  checker.True("no key", cuda::DropOut(x.data(), dropout, nullptr, 0, 8, x.data(), nullptr) ==
                             cudaErrorInvalidValue);
}

}  // namespace

void CheckDropouts(Checker& checker) {
  CheckAll<float>(checker);
  CheckAll<Bf16>(checker);
  if (checker.Begin("dropout/refused")) CheckRefused(checker);
}

}  // namespace penstock::runner
