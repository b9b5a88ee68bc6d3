#include "kernels/check_bench/check.h"
#include "kernels/cuda/activation.h"
#include "kernels/cuda/layer_norm.h"

namespace penstock::check_bench {
namespace {

// A row of up to 1,024 floats is summed by lanes, up to 32 values each, then in five levels: 37
// sums, whose partial sums are no larger than the result typically is. Eleven operations follow.
// Sums over rows have fewer: ten rows, four levels, eight warps and two parts.
constexpr double kRow = 48 * kRounding<float>;

// Random values around `offset`.
template <typename T>
std::vector<T> NoiseAt(double offset, size_t count) {
  std::vector<T> values = Noise<T>(count, 1, 2.0);
  for (T& x : values) x = FromFloat<T>(ToFloat(x) + static_cast<float>(offset));
  return values;
}

template <typename T>
struct Case {
  Case(size_t rows_, size_t dim_, double offset = 0)
      : rows(rows_),
        dim(dim_),
        x(NoiseAt<T>(offset, rows * dim)),
        residual(Noise<T>(rows * dim, 2, 2.0)),
        dy(Noise<T>(rows * dim, 3)),
        sum(rows * dim),
        y(rows * dim),
        gamma(Noise<float>(dim, 4)),
        beta(Noise<float>(dim, 5)),
        dgamma(Noise<float>(dim, 6)),
        dbeta(Noise<float>(dim, 7)),
        mean(rows),
        rstd(rows),
        workspace(cuda::LayerNormWorkspace(rows, dim)) {}
  size_t rows, dim;
  DeviceArray<T> x, residual, dy, sum, y;
  DeviceArray<float> gamma, beta, dgamma, dbeta, mean, rstd, workspace;
};

constexpr double kEpsilon = 1e-5;

template <typename T>
void CheckForward(Checker& checker, Case<T>& c, bool with_residual) {
  checker.RunTwice(
      [&] {
        return with_residual
                   ? cuda::AddLayerNorm(c.x.data(), c.residual.data(), c.gamma.data(),
                                        c.beta.data(), float(kEpsilon), c.rows, c.dim, c.sum.data(),
                                        c.y.data(), c.mean.data(), c.rstd.data(), nullptr)
                   : cuda::LayerNorm(c.x.data(), c.gamma.data(), c.beta.data(), float(kEpsilon),
                                     c.rows, c.dim, c.y.data(), c.mean.data(), c.rstd.data(),
                                     nullptr);
      },
      c.sum, c.y, c.mean, c.rstd);
  std::vector<double> input = ToDoubles(c.x.initial());
  if (with_residual) {
    const auto residual = ToDoubles(c.residual.initial());
    for (size_t i = 0; i < input.size(); ++i) input[i] += residual[i];
    checker.Close("sum", c.sum.Read(), input, kRounding<float>);  // Without the rounding to T.
    input = ToDoubles(c.sum.Read());  // The kernel normalises the rounded sum.
  }
  std::vector<double> y(input.size()), mean(c.rows), rstd(c.rows);
  reference::LayerNorm(input.data(), ToDoubles(c.gamma.initial()).data(),
                       ToDoubles(c.beta.initial()).data(), kEpsilon, c.rows, c.dim, y.data(),
                       mean.data(), rstd.data());
  checker.Close("y", c.y.Read(), y, kRow);
  checker.Close("mean", c.mean.Read(), mean, kRow);
  checker.Close("rstd", c.rstd.Read(), rstd, kRow);
}

// Writes the sum onto one of the two inputs, as programs do. The results must equal those of the
// two kernels run one after the other.
template <typename T>
void CheckOntoSum(Checker& checker, size_t rows, size_t dim) {
  Case<T> joint(rows, dim), apart(rows, dim);
  Require(cuda::AddLayerNorm(joint.x.data(), joint.residual.data(), joint.gamma.data(),
                             joint.beta.data(), float(kEpsilon), rows, dim, joint.residual.data(),
                             joint.y.data(), joint.mean.data(), joint.rstd.data(), nullptr),
          "residual and layer norm");
  Require(cuda::Add(apart.x.data(), rows * dim, apart.residual.data(), nullptr), "residual");
  Require(
      cuda::LayerNorm(apart.residual.data(), apart.gamma.data(), apart.beta.data(), float(kEpsilon),
                      rows, dim, apart.y.data(), apart.mean.data(), apart.rstd.data(), nullptr),
      "layer norm");
  checker.SameBits("the sum equals that of two launches", joint.residual.Read(),
                   apart.residual.Read());
  checker.SameBits("y equals that of two launches", joint.y.Read(), apart.y.Read());
  checker.SameBits("mean equals that of two launches", joint.mean.Read(), apart.mean.Read());
  checker.SameBits("rstd equals that of two launches", joint.rstd.Read(), apart.rstd.Read());
}

// The mean is 1,000 and the deviation 1. Rounding would destroy a variance that is computed as a
// difference of mean squares.
void CheckLargeMean(Checker& checker, size_t dim) {
  Case<float> c(5, dim, 1000);
  checker.Shape({{"rows", c.rows}, {"dim", dim}});
  Require(cuda::LayerNorm(c.x.data(), c.gamma.data(), c.beta.data(), float(kEpsilon), c.rows, c.dim,
                          c.y.data(), c.mean.data(), c.rstd.data(), nullptr),
          "layer norm");
  std::vector<double> y(c.rows * dim), mean(c.rows), rstd(c.rows);
  reference::LayerNorm(ToDoubles(c.x.initial()).data(), ToDoubles(c.gamma.initial()).data(),
                       ToDoubles(c.beta.initial()).data(), kEpsilon, c.rows, dim, y.data(),
                       mean.data(), rstd.data());
  checker.Close("mean", c.mean.Read(), mean, kRow);
  checker.Close("rstd", c.rstd.Read(), rstd, kRow);
  // Each value has the error of the mean: 37 roundings of numbers near 1,000, which add up to about
  // sqrt(37) of them, and the rounding of the mean itself.
  checker.Close("y", c.y.Read(), y, 8 * 1000 * kRounding<float>);
}

// dx = residual gradient + ...; the residual gradient is null, or the array that dx is written to.
template <typename T>
void CheckBackward(Checker& checker, Case<T>& c, bool onto_residual) {
  DeviceArray<float> mean(c.mean.Read()), rstd(c.rstd.Read());
  checker.RunTwice(
      [&] {
        return cuda::LayerNormBackward(
            c.dy.data(), c.x.data(), c.gamma.data(), mean.data(), rstd.data(), c.rows, c.dim,
            onto_residual ? c.residual.data() : nullptr, c.residual.data(), c.dgamma.data(),
            c.dbeta.data(), c.workspace.data(), nullptr);
      },
      c.residual, c.dgamma, c.dbeta);
  auto dx = ToDoubles(c.residual.initial()), dgamma = ToDoubles(c.dgamma.initial()),
       dbeta = ToDoubles(c.dbeta.initial());
  if (!onto_residual) std::fill(dx.begin(), dx.end(), 0.0);
  reference::LayerNormBackward(ToDoubles(c.dy.initial()).data(), ToDoubles(c.x.initial()).data(),
                               ToDoubles(c.gamma.initial()).data(),
                               ToDoubles(mean.initial()).data(), ToDoubles(rstd.initial()).data(),
                               c.rows, c.dim, dx.data(), dgamma.data(), dbeta.data());
  checker.Close("dx", c.residual.Read(), dx, kRow);
  checker.Close("dgamma", c.dgamma.Read(), dgamma, kRow);
  checker.Close("dbeta", c.dbeta.Read(), dbeta, kRow);
}

template <typename T>
void CheckAll(Checker& checker, size_t rows, size_t dim) {
  const std::string of =
      std::string(NameOf<T>()) + "/" + std::to_string(rows) + "x" + std::to_string(dim);
  if (checker.Begin("layer_norm/" + of)) {
    Case<T> c(rows, dim);
    CheckForward(checker, c, false);
    CheckBackward(checker, c, false);
  }
  if (checker.Begin("layer_norm_residual/" + of)) {
    Case<T> c(rows, dim);
    CheckForward(checker, c, true);
    CheckForward(checker, c, false);  // The backward needs the mean and rstd of x alone.
    CheckBackward(checker, c, true);
    CheckOntoSum<T>(checker, rows, dim);
  }
}

}  // namespace

void CheckLayerNorms(Checker& checker) {
  for (size_t dim : {8, 64, 72, 256, 384, 512, 1024}) {
    // In every layout, 77 rows need more than one block and do not fill the last one.
    for (size_t rows : {1, 77}) {
      CheckAll<float>(checker, rows, dim);
      CheckAll<Bf16>(checker, rows, dim);
    }
  }
  for (size_t dim : {64, 1024}) {
    if (checker.Begin("layer_norm/large_mean/" + std::to_string(dim))) CheckLargeMean(checker, dim);
  }
  if (checker.Begin("layer_norm/refuses_rows_of_part_vectors")) {
    Case<Bf16> c(1, 8);
    checker.True("cudaErrorInvalidValue",
                 cuda::LayerNorm(c.x.data(), c.gamma.data(), c.beta.data(), 1e-5f, 1, 4, c.y.data(),
                                 c.mean.data(), c.rstd.data(), nullptr) == cudaErrorInvalidValue);
  }
  if (checker.Begin("layer_norm/refuses_addresses_between_vectors")) {
    Case<float> c(1, 8);
    for (size_t late : {0, 1}) {  // First the scale lies between vectors, then the offset.
      checker.True("cudaErrorInvalidValue",
                   cuda::LayerNorm(c.x.data(), c.gamma.data() + 1 - late, c.beta.data() + late,
                                   1e-5f, 1, 4, c.y.data(), c.mean.data(), c.rstd.data(),
                                   nullptr) == cudaErrorInvalidValue);
    }
  }
}

}  // namespace penstock::check_bench
