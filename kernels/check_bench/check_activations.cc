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

// Functions are evaluated in float, then rounded to T. GELU's slope multiplies the roundings of its
// sigmoid's argument by up to about 20, in the range where neither has decayed.
template <typename T>
constexpr double kBound = kRounding<T> + 64 * kRounding<float>;

template <typename T>
void CheckGelu(Checker& checker, reference::GeluForm form, size_t count) {
  Pair<T> a(count);
  auto expected = a.expected();
  const auto x = ToDoubles(a.x.initial()), dy = ToDoubles(a.dy.initial());
  checker.RunTwice([&] { return cuda::Gelu(a.x.data(), form, count, a.out.data(), nullptr); },
                   a.out);
  reference::Gelu(x.data(), form, count, expected.data());
  checker.Close("y", a.out.Read(), expected, kBound<T>);
  checker.RunTwice(
      [&] {
        return cuda::GeluBackward(a.dy.data(), a.x.data(), form, count, a.dy.data(), nullptr);
      },
      a.dy);
  reference::GeluBackward(dy.data(), x.data(), form, count, expected.data());
  checker.Close("dx", a.dy.Read(), expected, kBound<T>);
}

// The largest error. Each error is relative to its own expected value.
template <typename T>
double LargestRatio(const std::vector<T>& actual, const std::vector<double>& expected) {
  double largest = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    const double error = std::abs(ToFloat(actual[i]) - expected[i]) / std::abs(expected[i]);
    if (!(error <= largest)) largest = error;
  }
  return largest;
}

// The kernel must compute GELU as a product, not as a difference, even near zero. The exponent is
// up to 36 in base 2, which costs a few times 36 roundings.
template <typename T>
void CheckGeluTail(Checker& checker, reference::GeluForm form) {
  std::vector<T> tail(1000);
  for (size_t i = 0; i < tail.size(); ++i) tail[i] = FromFloat<T>(-6.0f + 0.003f * float(i));
  DeviceArray<T> x(tail), y(tail.size()), dx(std::vector<T>(tail.size(), FromFloat<T>(1)));
  Require(cuda::Gelu(x.data(), form, tail.size(), y.data(), nullptr), "gelu");
  Require(cuda::GeluBackward(dx.data(), x.data(), form, tail.size(), dx.data(), nullptr), "gelu");
  std::vector<double> value, slope;
  for (double wide : ToDoubles(tail)) {  // In double, 1 + tanh would keep only six digits.
    value.push_back(double(reference::GeluValue<long double>(wide, form)));
    slope.push_back(double(reference::GeluSlope<long double>(wide, form)));
  }
  const double bound = kRounding<T> + 256 * kRounding<float>;
  checker.Bound("y of the tail", LargestRatio(y.Read(), value), bound);
  checker.Bound("slope of the tail", LargestRatio(dx.Read(), slope), bound);
}

template <typename T>
void CheckSum(Checker& checker, size_t count) {
  Pair<T> a(count);
  auto expected = ToDoubles(a.dy.initial());
  checker.RunTwice([&] { return cuda::Add(a.x.data(), count, a.dy.data(), nullptr); }, a.dy);
  reference::Add(ToDoubles(a.x.initial()).data(), count, expected.data());
  checker.Close("sum", a.dy.Read(), expected, kRounding<T>);
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
