#include "kernels/check_bench/check.h"
#include "kernels/cuda/activation.h"

namespace penstock::check_bench {
namespace {

// These sizes are not whole vectors or whole blocks. On the emulation, a thread takes several
// vectors of the largest size.
constexpr size_t kCounts[] = {1, 7, 3 * 4096 + 8 + 3};

template <typename T>
struct Pair {
  explicit Pair(size_t count) : x(Noise<T>(count, 1, 6.0)), dy(Noise<T>(count, 2)), out(count) {}
  DeviceArray<T> x, dy, out;
  std::vector<double> expected() const { return std::vector<double>(x.size()); }
};

// The error of GELU and its slope for |x| up to 6. The slope is s + x s (1 - s) u', with a sigmoid
// s that is off by 1.5 roundings. 1 - s is multiplied by x u', which is 33 at x = 4.9; above that,
// s is exactly 1. So these are 50 roundings. The others are at most 14: nine of u, whose factor is
// less than 0.5; four of the exponential, times 0.2; and those of the final products and sums. GELU
// itself has fewer.
constexpr double kGelu = 64 * kRounding<float>;

template <typename T>
void CheckGelu(Checker& checker, reference::GeluForm form, size_t count) {
  Pair<T> a(count);
  auto expected = a.expected();
  const auto x = ToDoubles(a.x.initial()), dy = ToDoubles(a.dy.initial());
  checker.RunTwice([&] { return cuda::Gelu(a.x.data(), form, count, a.out.data(), nullptr); },
                   a.out);
  reference::Gelu(x.data(), form, count, expected.data());
  checker.Close("y", a.out.Read(), expected, kGelu);
  checker.RunTwice(
      [&] {
        return cuda::GeluBackward(a.dy.data(), a.x.data(), form, count, a.dy.data(), nullptr);
      },
      a.dy);
  reference::GeluBackward(dy.data(), x.data(), form, count, expected.data());
  checker.Close("dx", a.dy.Read(), expected, kGelu);
}

// Returns the error of each value: `roundings` roundings to float and one to T.
template <typename T>
std::vector<double> Roundings(double roundings, const std::vector<double>& values) {
  std::vector<double> errors;
  for (double x : values) {
    errors.push_back((roundings * kRounding<float> + kRounding<T>)*std::abs(x));
  }
  return errors;
}

// Where GELU is nearly zero, the kernel must still compute it as a product, not as a difference.
// The exponent of 2 is up to 36. It is the result of nine operations and constants, so it is off by
// 9 * 36 ln(2) = 225 roundings of the result. The exponential adds four, other operations add ten.
template <typename T>
void CheckGeluTail(Checker& checker, reference::GeluForm form) {
  std::vector<T> tail(1000);
  for (size_t i = 0; i < tail.size(); ++i) tail[i] = FromFloat<T>(-6.0f + 0.003f * float(i));
  DeviceArray<T> x(tail), y(tail.size()), dx(std::vector<T>(tail.size(), FromFloat<T>(1)));
  Require(cuda::Gelu(x.data(), form, tail.size(), y.data(), nullptr), "gelu");
  Require(cuda::GeluBackward(dx.data(), x.data(), form, tail.size(), dx.data(), nullptr), "gelu");
  std::vector<double> value, slope;
  for (double wide : ToDoubles(tail)) {  // In double, 1 + tanh has only six digits.
    value.push_back(double(reference::GeluValue<long double>(wide, form)));
    slope.push_back(double(reference::GeluSlope<long double>(wide, form)));
  }
  checker.Within("y of the tail", y.Read(), value, Roundings<T>(239, value));
  checker.Within("slope of the tail", dx.Read(), slope, Roundings<T>(239, slope));
}

template <typename T>
void CheckSum(Checker& checker, size_t count) {
  Pair<T> a(count);
  auto expected = ToDoubles(a.dy.initial());
  checker.RunTwice([&] { return cuda::Add(a.x.data(), count, a.dy.data(), nullptr); }, a.dy);
  reference::Add(ToDoubles(a.x.initial()).data(), count, expected.data());
  checker.Close("sum", a.dy.Read(), expected, kRounding<float>);  // Without the rounding to T.
}

template <typename T>
void CheckAll(Checker& checker, size_t count) {
  const std::string of = std::string(NameOf<T>()) + "/" + std::to_string(count);
  if (checker.Begin("gelu_tanh/" + of)) CheckGelu<T>(checker, reference::GeluForm::kTanh, count);
  if (checker.Begin("gelu_erf/" + of)) CheckGelu<T>(checker, reference::GeluForm::kErf, count);
  if (checker.Begin("sum/" + of)) CheckSum<T>(checker, count);
}

}  // namespace

void CheckActivations(Checker& checker) {
  for (size_t count : kCounts) {
    CheckAll<float>(checker, count);
    CheckAll<Bf16>(checker, count);
  }
  for (auto form : {reference::GeluForm::kTanh, reference::GeluForm::kErf}) {
    const std::string of = form == reference::GeluForm::kTanh ? "gelu_tanh/" : "gelu_erf/";
    if (checker.Begin(of + "f32/tail")) CheckGeluTail<float>(checker, form);
    if (checker.Begin(of + "bf16/tail")) CheckGeluTail<Bf16>(checker, form);
  }
  if (checker.Begin("gelu/refuses_addresses_between_vectors")) {
    DeviceArray<float> x(16);
    checker.True("cudaErrorInvalidValue", cuda::Gelu(x.data() + 1, reference::GeluForm::kTanh, 8,
                                                     x.data(), nullptr) == cudaErrorInvalidValue);
  }
}

}  // namespace penstock::check_bench
