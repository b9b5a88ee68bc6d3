// Checks of kernels against the references in double. They need nothing but CUDA, so that they run
// on machines that have only nvcc and CMake.
#ifndef PENSTOCK_KERNELS_CHECK_BENCH_CHECK_H_
#define PENSTOCK_KERNELS_CHECK_BENCH_CHECK_H_

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/check_bench/block_limit.h"
#include "kernels/check_bench/compare.h"
#include "kernels/check_bench/device_array.h"
#include "kernels/check_bench/outcome.h"
#include "kernels/numeric/bf16.h"
#include "kernels/numeric/counter_random.h"

namespace penstock::check_bench {

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

// Sets the order in which an emulated device runs its threads. Has no effect on a GPU.
void RunThreadsInReverse(bool reverse);

// One number of a shape, as in {"tokens", 33}.
struct Dimension {
  template <typename Number>
  Dimension(const char* called, Number number) : name(called), value(static_cast<double>(number)) {}
  const char* name;
  double value;
};

// Collects outcomes. Thread-compatible.
class Checker {
 public:
  // Runs the checks whose names begin with `prefix`. A bound is `margin` times the error that the
  // check has derived. `limit` must outlive this object. With `only_names`, no check runs.
  Checker(std::string prefix, double margin, BlockLimit& limit, bool only_names = false)
      : prefix_(std::move(prefix)), margin_(margin), limit_(limit), only_names_(only_names) {}

  // Begins a check. Returns false if the check is not wanted.
  bool Begin(const std::string& name);
  // Says what the name of this check does not say about its arrays. All outcomes get it until the
  // next shape or the next check.
  void Shape(std::initializer_list<Dimension> dimensions);

  // Returns whether a block has `shared` bytes of shared memory; if not, leaves `what` of this
  // check out.
  bool Fits(const std::string& what, size_t shared) {
    return limit_.Fits(name_ + "/" + what, shared);
  }

  void Bound(const std::string& what, double error, double derived) {
    Add(what, error, margin_ * derived, std::nullopt);
  }
  void True(const std::string& what, bool holds) { Bound(what, holds ? 0 : 1, 0); }
  // `derived` is the error of `actual`, in the sense of RelativeErrors(), without the last rounding
  // to T.
  template <typename T>
  void Close(const std::string& what, const std::vector<T>& actual,
             const std::vector<double>& expected, double derived) {
    std::vector<double> rounding(actual.size());
    std::transform(actual.begin(), actual.end(), rounding.begin(), HalfUnit<T>);
    const std::vector<double> values = ToDoubles(actual);
    Compare(what, values, expected, RelativeErrors(values, expected, rounding), derived);
  }
  // `derived` has an error for each element, which includes the last rounding to T.
  template <typename T>
  void Within(const std::string& what, const std::vector<T>& actual,
              const std::vector<double>& expected, const std::vector<double>& derived) {
    const std::vector<double> values = ToDoubles(actual);
    Compare(what, values, expected, Multiples(values, expected, derived), 1);
  }
  // Demands that elements are equal. 0 equals -0, and NaN equals nothing.
  template <typename T>
  void Equal(const std::string& what, const std::vector<T>& actual,
             const std::vector<T>& expected) {
    Compare(what, ToDoubles(actual), ToDoubles(expected),
            Differences(actual, expected, std::equal_to<>()), 0);
  }
  template <typename T>
  void SameBits(const std::string& what, const std::vector<T>& actual,
                const std::vector<T>& expected) {
    AddSameBits(what, DifferentBits(actual, expected));
  }

  // Calls `launch` twice, with the outputs reset to their initial values before each call. Demands
  // success and the same bits both times.
  template <typename Launch, typename... Arrays>
  void RunTwice(Launch launch, Arrays&... outputs) {
    Run(launch, false, outputs...);
    const auto first = std::make_tuple(outputs.Read()...);
    Run(launch, true, outputs...);
    const auto second = std::make_tuple(outputs.Read()...);
    AddSameBits("the same bits twice",
                FirstDifferent(second, first, std::index_sequence_for<Arrays...>()));
  }

  const std::vector<Outcome>& outcomes() const { return outcomes_; }
  const std::vector<std::string>& names() const { return names_; }

 private:
  void Add(const std::string& what, double error, double bound, std::optional<WrongElements> wrong);
  void AddSameBits(const std::string& what, std::optional<WrongElements> wrong);
  // Adds the largest of `errors`, one of each element.
  void Compare(const std::string& what, const std::vector<double>& actual,
               const std::vector<double>& expected, const std::vector<double>& errors,
               double derived);

  template <typename Launch, typename... Arrays>
  void Run(Launch& launch, bool reverse, Arrays&... outputs) {
    (outputs.Reset(), ...);
    RunThreadsInReverse(reverse);
    const std::string which = shape_.empty() ? name_ : name_ + ": " + shape_;
    Require(launch(), which.c_str());
    Require(cudaDeviceSynchronize(), which.c_str());
  }

  // Returns the wrong elements of the first array of `actual` that differs in a bit.
  template <typename Tuple, size_t... kIndices>
  static std::optional<WrongElements> FirstDifferent(const Tuple& actual, const Tuple& expected,
                                                     std::index_sequence<kIndices...>) {
    std::optional<WrongElements> wrong;
    size_t number = 0;
    ((++number, wrong = DifferentBits(std::get<kIndices>(actual), std::get<kIndices>(expected)),
      wrong.has_value()) ||
     ...);
    if (wrong && sizeof...(kIndices) > 1) {
      wrong->array =
          "output " + std::to_string(number) + " of " + std::to_string(sizeof...(kIndices));
    }
    return wrong;
  }

  std::string prefix_;
  const double margin_;
  BlockLimit& limit_;
  const bool only_names_;
  std::string name_, shape_;
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
