#include "kernels/check_bench/check.h"
#include "kernels/cuda/narrow_linear.h"
#include "kernels/reference/linear.h"

namespace penstock::check_bench {
namespace {

// The rounding of the result, and of a sum of `terms` floats in any order.
template <typename T>
double BoundOf(size_t terms) {
  return kRounding<T> + static_cast<double>(terms) * kRounding<float>;
}

template <typename T>
void CheckShape(Checker& checker, size_t rows, size_t in) {
  constexpr size_t kOut = cuda::kNarrow;
  checker.Shape({{"rows", rows}, {"in", in}, {"out", kOut}});
  DeviceArray<T> x(Noise<T>(rows * in, 1)), w(Noise<T>(kOut * in, 2)), bias(Noise<T>(kOut, 3)),
      y(rows * kOut), dy(Noise<T>(rows * kOut, 4)), dx(rows * in);
  DeviceArray<float> dw(Noise<float>(kOut * in, 5)), workspace(cuda::NarrowWorkspace(rows, in));
  const std::vector<double> wide_x = ToDoubles(x.initial()), wide_w = ToDoubles(w.initial()),
                            wide_dy = ToDoubles(dy.initial());
  checker.RunTwice(
      [&] {
        return cuda::NarrowLinear(x.data(), w.data(), bias.data(), rows, in, y.data(), nullptr);
      },
      y);
  std::vector<double> expected(y.size()), gradient(dx.size()), ignored(kOut);
  reference::Linear<double>(wide_x.data(), wide_w.data(), ToDoubles(bias.initial()).data(), nullptr,
                            rows, in, kOut, expected.data());
  checker.Close("y", y.Read(), expected, BoundOf<T>(in));
  checker.RunTwice(
      [&] { return cuda::NarrowBackwardInput(dy.data(), w.data(), rows, in, dx.data(), nullptr); },
      dx);
  reference::LinearBackwardInput(wide_dy.data(), wide_w.data(), rows, in, kOut, gradient.data());
  checker.Close("dx", dx.Read(), gradient, BoundOf<T>(kOut));
  checker.RunTwice(
      [&] {
        return cuda::NarrowBackwardWeight(dy.data(), x.data(), rows, in, dw.data(),
                                          workspace.data(), nullptr);
      },
      dw);
  std::vector<double> weights = ToDoubles(dw.initial());
  reference::LinearBackwardWeight(wide_dy.data(), wide_x.data(), rows, in, kOut, weights.data(),
                                  ignored.data());
  checker.Close("dw", dw.Read(), weights, BoundOf<float>(rows));
}

template <typename T>
void CheckAll(Checker& checker) {
  if (!checker.Begin(std::string("narrow_linear/") + NameOf<T>())) return;
  CheckShape<T>(checker, 1, 8);
  CheckShape<T>(checker, 5, 264);   // Several vectors for some lanes; columns of a second block.
  CheckShape<T>(checker, 203, 48);  // Parts of 33 and 34 rows; warps take several rows.
  CheckShape<T>(checker, 1001, 8);  // Many parts.
}

}  // namespace

void CheckNarrowLinears(Checker& checker) {
  CheckAll<float>(checker);
  CheckAll<Bf16>(checker);
}

}  // namespace penstock::check_bench
