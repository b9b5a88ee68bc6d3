// Checks of kernels against the references in double. They need nothing but CUDA, so that they run
// on machines that have only nvcc and CMake.
#ifndef PENSTOCK_KERNELS_CHECK_BENCH_CHECK_H_
#define PENSTOCK_KERNELS_CHECK_BENCH_CHECK_H_

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/check_bench/block_limit.h"
#include "kernels/check_bench/device_array.h"
#include "kernels/numeric/bf16.h"
#include "kernels/numeric/counter_random.h"

namespace penstock::check_bench {

// One comparison: the largest error, which must be at most `bound`.
struct Outcome {
  std::string check;
  std::string what;
  double error = 0;
  double bound = 0;
  bool passed() const { return error <= bound; }  // False for NaN.
};

// The largest relative error of rounding a result to T: half a unit in the last place.
template <typename T>
inline constexpr double kRounding = std::is_same_v<T, Bf16> ? 0x1p-8 : 0x1p-24;

// Half a unit in the last place of x itself; 0 for a double.
template <typename T>
double HalfUnit(T x) {
  if constexpr (std::is_same_v<T, double>) {
    return 0;
  } else {
    const double magnitude = std::abs(static_cast<double>(ToFloat(x)));
    return std::ldexp(kRounding<T>, std::ilogb(std::max(magnitude, 0x1p-126)));
  }
}

template <typename T>
constexpr const char* NameOf() {
  return std::is_same_v<T, Bf16> ? "bf16" : "f32";
}

// Values uniform over [-scale, scale), rounded to T. Different salts give different arrays.
template <typename T>
std::vector<T> Noise(size_t count, uint64_t salt, double scale = 1.0) {
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) {
    const double unit = static_cast<double>(RandomBits(salt, i) >> 11) * 0x1p-52 - 1.0;
    values[i] = FromFloat<T>(static_cast<float>(scale * unit));
  }
  return values;
}

template <typename T>
std::vector<double> ToDoubles(const std::vector<T>& values) {
  std::vector<double> doubles(values.size());
  std::transform(values.begin(), values.end(), doubles.begin(), [](T x) {
    if constexpr (std::is_same_v<T, double>) {
      return x;
    } else {
      return static_cast<double>(ToFloat(x));
    }
  });
  return doubles;
}

template <typename T>
bool SameBytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

double RootMeanSquare(const std::vector<double>& values);

// The largest difference between the two, less its element of `allowed`. Each is divided by the
// expected value or by the root mean square of all expected values, whichever is larger: small
// values next to large ones are sums that nearly cancel.
double LargestError(const std::vector<double>& actual, const std::vector<double>& expected,
                    const std::vector<double>& allowed);
// The largest difference between the two, each divided by its element of `errors`.
double LargestMultiple(const std::vector<double>& actual, const std::vector<double>& expected,
                       const std::vector<double>& errors);

// Sets the order in which an emulated device runs its threads. Has no effect on a GPU.
void RunThreadsInReverse(bool reverse);

// Collects outcomes. Thread-compatible.
class Checker {
 public:
  // Runs the checks whose names begin with `prefix`. A bound is `margin` times the error that the
  // check has derived. `limit` must outlive this object. With `only_names`, no check runs.
  Checker(std::string prefix, double margin, BlockLimit& limit, bool only_names = false)
      : prefix_(std::move(prefix)), margin_(margin), limit_(limit), only_names_(only_names) {}

  // Begins a check. Returns false if the check is not wanted.
  bool Begin(const std::string& name);

  // Returns whether a block has `shared` bytes of shared memory; if not, leaves `what` of this
  // check out.
  bool Fits(const std::string& what, size_t shared) {
    return limit_.Fits(name_ + "/" + what, shared);
  }

  void Bound(const std::string& what, double error, double derived) {
    outcomes_.push_back({name_, what, error, margin_ * derived});
  }
  // `derived` is the error of `actual`, in the sense of LargestError(), without the last rounding
  // to T.
  template <typename T>
  void Close(const std::string& what, const std::vector<T>& actual,
             const std::vector<double>& expected, double derived) {
    std::vector<double> rounding(actual.size());
    std::transform(actual.begin(), actual.end(), rounding.begin(), HalfUnit<T>);
    Bound(what, LargestError(ToDoubles(actual), expected, rounding), derived);
  }
  // `derived` has an error for each element, which includes the last rounding to T.
  template <typename T>
  void Within(const std::string& what, const std::vector<T>& actual,
              const std::vector<double>& expected, const std::vector<double>& derived) {
    Bound(what, LargestMultiple(ToDoubles(actual), expected, derived), 1);
  }
  void True(const std::string& what, bool holds) { Bound(what, holds ? 0 : 1, 0); }

  // Calls `launch` twice, with the outputs reset to their initial values before each call. Demands
  // success and the same bits both times.
  template <typename Launch, typename... Arrays>
  void RunTwice(Launch launch, Arrays&... outputs) {
    Run(launch, false, outputs...);
    const auto first = std::make_tuple(outputs.Read()...);
    Run(launch, true, outputs...);
    const auto second = std::make_tuple(outputs.Read()...);
    True("the same bits twice", Same(first, second, std::index_sequence_for<Arrays...>()));
  }

  const std::vector<Outcome>& outcomes() const { return outcomes_; }
  const std::vector<std::string>& names() const { return names_; }

 private:
  template <typename Launch, typename... Arrays>
  void Run(Launch& launch, bool reverse, Arrays&... outputs) {
    (outputs.Reset(), ...);
    RunThreadsInReverse(reverse);
    Require(launch(), name_.c_str());
    Require(cudaDeviceSynchronize(), name_.c_str());
  }
  template <typename Tuple, size_t... kIndices>
  static bool Same(const Tuple& a, const Tuple& b, std::index_sequence<kIndices...>) {
    return (SameBytes(std::get<kIndices>(a), std::get<kIndices>(b)) && ...);
  }

  std::string prefix_;
  const double margin_;
  BlockLimit& limit_;
  const bool only_names_;
  std::string name_;
  std::vector<std::string> names_;
  std::vector<Outcome> outcomes_;
};

void CheckActivations(Checker& checker);
void CheckAttention(Checker& checker);
void CheckBoardFeatures(Checker& checker);
void CheckDropouts(Checker& checker);
void CheckHalves(Checker& checker);
void CheckImages(Checker& checker);
void CheckLayerNorms(Checker& checker);
void CheckLosses(Checker& checker);
void CheckNarrowLinears(Checker& checker);
void CheckPools(Checker& checker);
void CheckUpdates(Checker& checker);

}  // namespace penstock::check_bench

#endif  // PENSTOCK_KERNELS_CHECK_BENCH_CHECK_H_
