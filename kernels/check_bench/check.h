// Checks of kernels against the references in double. Nothing but CUDA is needed, so that they run
// where only nvcc and CMake are.
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

// One comparison: the largest error, of at most `bound`.
struct Outcome {
  std::string check;
  std::string what;
  double error = 0;
  double bound = 0;
  bool passed() const { return error <= bound; }  // False for NaN.
};

// Half a unit in the last place of T, relative: what rounding a result to T costs.
template <typename T>
inline constexpr double kRounding = std::is_same_v<T, Bf16> ? 0x1p-8 : 0x1p-24;

template <typename T>
constexpr const char* NameOf() {
  return std::is_same_v<T, Bf16> ? "bf16" : "f32";
}

// Values uniform over [-scale, scale), rounded to T; `salt` tells arrays apart.
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

// The largest difference between the two, each relative to the larger of its expected value and
// the root mean square of all: small values next to large ones are sums that nearly cancel.
double LargestError(const std::vector<double>& actual, const std::vector<double>& expected);

// Sets in which order an emulated device runs its threads; a GPU chooses itself.
void RunThreadsInReverse(bool reverse);

// Collects outcomes. Thread-compatible.
class Checker {
 public:
  // `prefix` chooses the checks to run by the beginnings of their names. `limit` must outlive this.
  // `only_names`: none is run.
  Checker(std::string prefix, BlockLimit& limit, bool only_names = false)
      : prefix_(std::move(prefix)), limit_(limit), only_names_(only_names) {}

  // Begins a check; false if it is not wanted.
  bool Begin(const std::string& name);

  // Whether a block has `shared` bytes of shared memory; if not, `what` of this check is left out.
  bool Fits(const std::string& what, size_t shared) {
    return limit_.Fits(name_ + "/" + what, shared);
  }

  void Bound(const std::string& what, double error, double bound) {
    outcomes_.push_back({name_, what, error, bound});
  }
  template <typename T>
  void Close(const std::string& what, const std::vector<T>& actual,
             const std::vector<double>& expected, double bound) {
    Bound(what, LargestError(ToDoubles(actual), expected), bound);
  }
  void True(const std::string& what, bool holds) { Bound(what, holds ? 0 : 1, 0); }

  // Calls `launch` twice, the outputs being what they began as before each, and demands success
  // and the same bits of both.
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
void CheckPools(Checker& checker);
void CheckUpdates(Checker& checker);

}  // namespace penstock::check_bench

#endif  // PENSTOCK_KERNELS_CHECK_BENCH_CHECK_H_
