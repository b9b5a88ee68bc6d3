#include "kernels/check_bench/check.h"
#include "kernels/cuda/column_sum.h"
#include "kernels/cuda/pool.h"

namespace penstock::check_bench {
namespace {

// The longest sum has 1,001 rows in 31 parts. A value of it takes part in up to 45 additions: of 2
// rows in a group, 31 groups, 4 parts, 7 groups of parts, and the initial value.
constexpr double kSums = 48 * kRounding<float>;

template <typename T>
void CheckMean(Checker& checker, size_t samples, size_t tokens, size_t dim) {
  checker.Shape({{"samples", samples}, {"tokens", tokens}, {"dim", dim}});
  DeviceArray<T> x(Noise<T>(samples * tokens * dim, 1)), y(samples * dim), dx(x.size());
  checker.RunTwice(
      [&] { return cuda::MeanPool(x.data(), samples, tokens, dim, y.data(), nullptr); }, y);
  std::vector<double> expected(y.size()), gradient(x.size());
  reference::MeanPool(ToDoubles(x.initial()).data(), samples, tokens, dim, expected.data());
  checker.Close("y", y.Read(), expected, kSums);
  DeviceArray<T> dy(Noise<T>(samples * dim, 2));
  checker.RunTwice(
      [&] { return cuda::MeanPoolBackward(dy.data(), samples, tokens, dim, dx.data(), nullptr); },
      dx);
  reference::MeanPoolBackward(ToDoubles(dy.initial()).data(), samples, tokens, dim,
                              gradient.data());
  checker.Close("dx", dx.Read(), gradient, kRounding<float>);
}

template <typename T>
void CheckPosition(Checker& checker, size_t samples, size_t size) {
  checker.Shape({{"samples", samples}, {"size", size}});
  DeviceArray<T> x(Noise<T>(samples * size, 1));
  DeviceArray<float> position(Noise<float>(size, 2)), sums(Noise<float>(size, 3)),
      workspace(cuda::ColumnSumWorkspace(samples, size));
  checker.RunTwice(
      [&] { return cuda::AddPosition(position.data(), samples, size, x.data(), nullptr); }, x);
  auto expected = ToDoubles(x.initial()), gradient = ToDoubles(sums.initial());
  const auto dx = ToDoubles(x.Read());
  reference::AddPosition(ToDoubles(position.initial()).data(), samples, size, expected.data());
  checker.Close("x", x.Read(), expected, kRounding<float>);
  checker.RunTwice(
      [&] {
        return cuda::AddColumnSums(x.data(), samples, size, sums.data(), workspace.data(), nullptr);
      },
      sums);
  reference::AddPositionBackward(dx.data(), samples, size, gradient.data());
  checker.Close("dposition", sums.Read(), gradient, kSums);
}

template <typename T>
void CheckAll(Checker& checker) {
  const std::string of = NameOf<T>();
  if (checker.Begin("pool_mean/" + of)) {
    CheckMean<T>(checker, 1, 1, 8);
    CheckMean<T>(checker, 3, 3, 64);
    CheckMean<T>(checker, 5, 64, 72);
  }
  if (checker.Begin("pool_position/" + of)) {
    CheckPosition<T>(checker, 1, 8);
    for (size_t columns : {64, 72, 128, 136})
      CheckPosition<T>(checker, 203, columns);  // Uses few lanes.
    CheckPosition<T>(checker, 77, 64 * 24);
    // There are more parts than a thread loads at a time, and some are left over.
    CheckPosition<T>(checker, 3001, 8);
  }
}

}  // namespace

void CheckPools(Checker& checker) {
  CheckAll<float>(checker);
  CheckAll<Bf16>(checker);
}

}  // namespace penstock::check_bench
