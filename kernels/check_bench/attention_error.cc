#include "kernels/check_bench/attention_error.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/check_bench/check.h"
#include "kernels/numeric/bf16.h"

namespace penstock::check_bench {
namespace {

using reference::AttentionHead;
using reference::AttentionOptions;
using reference::AttentionShape;

constexpr double kUnit = kRounding<float>;
// The error of many independent roundings is at most the root of the sum of the squared results,
// times this factor: about five standard deviations.
constexpr double kSpread = 2 * kUnit;
// The absolute error of a result with exponentials so small that a float rounds them to zero.
constexpr double kVanished = 1e-30;

double Square(double x) { return x * x; }

// A sum of products that a kernel adds in this order, and its error.
template <typename T>
class Sum {
 public:
  void Add(double term) {
    partial_ += term;
    squares_ += Square(term) + Square(partial_);  // Roundings of product and sum.
  }
  double value() const { return partial_; }
  double error() const { return kSpread * std::sqrt(squares_); }

 private:
  double partial_ = 0, squares_ = 0;
};

// A sum on the least exact tensor cores that were measured. In each group of 8 products, these and
// the sum so far lose up to a unit of the largest of the nine each, and the result loses two units.
template <>
class Sum<Bf16> {
 public:
  void Add(double term) {
    if (count_++ % 8 == 0) {
      Flush();
      largest_ = std::abs(partial_);
    }
    largest_ = std::max(largest_, std::abs(term));
    partial_ += term;
  }
  double value() const { return partial_; }
  double error() const { return error_ + OfGroup(); }

 private:
  double OfGroup() const { return kUnit * (9 * largest_ + 2 * std::abs(partial_)); }
  void Flush() { error_ += OfGroup(); }

  int count_ = 0;
  double partial_ = 0, largest_ = 0, error_ = 0;
};

// Probabilities and their gradients are rounded to T before they are multiplied.
template <typename T>
constexpr double kOperand = std::is_same_v<T, Bf16> ? 2 * kRounding<Bf16> : 0;
// The last multiplication and the rounding to T.
template <typename T>
constexpr double kStored = 2 * kUnit + (std::is_same_v<T, Bf16> ? kRounding<Bf16> : 0);
// An exponential is off by two units in the last place, which are up to four roundings. Rescaling
// and multiplying it adds the others.
constexpr double kExponential = 8 * kUnit;

// One sample and head. Arrays of n * n have the element [query * n + key], arrays of n one for each
// query.
template <typename T>
class Head {
 public:
  Head(const AttentionHead<double>& head, const double* g, size_t g_stride)
      : head_(head),
        n_(head.shape.tokens),
        dim_(head.shape.head_dim),
        scale_(1 / std::sqrt(static_cast<double>(dim_))),
        g_(g),
        g_stride_(g_stride),
        p_(n_ * n_),
        score_(n_ * n_),
        row_(n_),
        ds_(n_ * n_),
        ds_error_(n_ * n_),
        mean_error_(n_) {
    for (size_t i = 0; i < n_; ++i) {
      reference::AttentionProbabilities(head_, i, &p_[i * n_]);
      FindScoreErrors(i);
      FindScoreGradients(i);
    }
  }

  // The error of a probability is also an error of the row's sum, and both cancel if the
  // probability is nearly 1. Two bounds hold, and the result is the smaller one. `alike` takes the
  // sum's error as a common factor of all terms. `apart` subtracts each probability's own error
  // from the sum's.
  double Out(size_t i, size_t d) const {
    Sum<T> sum;
    double alike = 0, apart = 0, by_terms = 0;
    for (size_t j = 0; j < n_; ++j) {
      const double p = p_[i * n_ + j], score = score_[i * n_ + j];
      const double term = p * head_.Factor(i, j) * V(j, d), other = kExponential + kOperand<T>;
      sum.Add(term);
      alike += Square(term * (score + other));
      apart += Square(term * ((1 - p) * score + other));
      by_terms += std::abs(term) * (row_[i] - p * score);
    }
    return std::min(row_[i] * std::abs(sum.value()) + Finish(sum, alike),
                    by_terms + Finish(sum, apart));
  }

  double QueryGradient(size_t i, size_t d) const {
    Sum<T> sum;
    double squares = 0, of_mean = 0;
    for (size_t j = 0; j < n_; ++j) {
      const size_t at = i * n_ + j;
      sum.Add(ds_[at] * K(j, d));
      squares += Square((ds_error_[at] + kOperand<T> * std::abs(ds_[at])) * K(j, d));
      of_mean += p_[at] * K(j, d);
    }
    const double row = row_[i] * std::abs(sum.value()) + mean_error_[i] * std::abs(of_mean);
    return scale_ * (row + Finish(sum, squares));
  }

  double KeyGradient(size_t j, size_t d) const {
    Sum<T> sum;
    double squares = 0;
    for (size_t i = 0; i < n_; ++i) {
      const double ds = ds_[i * n_ + j];
      sum.Add(ds * Q(i, d));
      squares += Square((ScoreGradient(i, j) + kOperand<T> * std::abs(ds)) * Q(i, d));
    }
    return scale_ * Finish(sum, squares);
  }

  double ValueGradient(size_t j, size_t d) const {
    Sum<T> sum;
    double squares = 0;
    for (size_t i = 0; i < n_; ++i) {
      const double term = p_[i * n_ + j] * head_.Factor(i, j) * G(i, d);
      sum.Add(term);
      squares += Square(term * (score_[i * n_ + j] + row_[i] + kExponential + kOperand<T>));
    }
    return Finish(sum, squares);
  }

  // The gradient of a score, and its error before it is rounded as an operand.
  double ds(size_t i, size_t j) const { return ds_[i * n_ + j]; }
  double ScoreGradient(size_t i, size_t j) const {
    const size_t at = i * n_ + j;
    return ds_error_[at] + row_[i] * std::abs(ds_[at]) + mean_error_[i] * p_[at];
  }

 private:
  double Q(size_t i, size_t d) const { return head_.q[i * head_.stride + d]; }
  double K(size_t j, size_t d) const { return head_.k[j * head_.stride + d]; }
  double V(size_t j, size_t d) const { return head_.v[j * head_.stride + d]; }
  double G(size_t i, size_t d) const { return g_[i * g_stride_ + d]; }

  static double Finish(const Sum<T>& sum, double squares) {
    return std::sqrt(squares) + sum.error() + kStored<T> * std::abs(sum.value()) + kVanished;
  }

  // Finds the absolute errors of the scores, which are relative errors of the probabilities, and
  // the error of the row's sum, which all probabilities of the row share.
  void FindScoreErrors(size_t i) {
    std::vector<Sum<T>> dots(n_);
    std::vector<double> scores(n_);
    double largest = 0;
    for (size_t j = 0; j < n_; ++j) {
      for (size_t d = 0; d < dim_; ++d) dots[j].Add(Q(i, d) * K(j, d));
      const double bias = head_.bias == nullptr ? 0 : head_.bias[i * n_ + j];
      scores[j] = std::isinf(bias) ? 0 : std::abs(dots[j].value() * scale_) + std::abs(bias);
      if (p_[i * n_ + j] > 0) largest = std::max(largest, scores[j]);
    }
    row_[i] = kSpread * std::sqrt(static_cast<double>(n_)) + kExponential;
    for (size_t j = 0; j < n_; ++j) {
      // Five numbers of this size are rounded: the scaled product, the bias, the score, the
      // exponents' base and the exponent.
      const double size = std::max(scores[j], largest);
      score_[i * n_ + j] = scale_ * dots[j].error() + kSpread * std::sqrt(5.0) * size;
      row_[i] += p_[i * n_ + j] * score_[i * n_ + j];
    }
  }

  // ds = p (dp - mean), mean = sum of p dp.
  void FindScoreGradients(size_t i) {
    std::vector<double> dp(n_), dp_error(n_);
    Sum<float> mean;
    double squares = 0;
    for (size_t j = 0; j < n_; ++j) {
      Sum<T> dot;
      for (size_t d = 0; d < dim_; ++d) dot.Add(G(i, d) * V(j, d));
      dp[j] = dot.value() * head_.Factor(i, j);
      dp_error[j] = dot.error() * head_.Factor(i, j);
      const size_t at = i * n_ + j;
      mean.Add(p_[at] * dp[j]);
      squares +=
          Square(p_[at] * dp[j] * (score_[at] + kExponential)) + Square(p_[at] * dp_error[j]);
    }
    mean_error_[i] = row_[i] * std::abs(mean.value()) + std::sqrt(squares) + mean.error();
    for (size_t j = 0; j < n_; ++j) {
      const size_t at = i * n_ + j;
      const double difference = dp[j] - mean.value();
      ds_[at] = p_[at] * difference;
      ds_error_[at] = std::abs(ds_[at]) * (score_[at] + kExponential) +
                      p_[at] * (dp_error[j] + kSpread * std::abs(difference));
    }
  }

  const AttentionHead<double>& head_;
  const size_t n_, dim_;
  const double scale_;
  const double* g_;
  const size_t g_stride_;
  std::vector<double> p_, score_, row_, ds_, ds_error_, mean_error_;
};

}  // namespace

template <typename T>
AttentionErrors ErrorsOfAttention(const std::vector<double>& qkv, const std::vector<double>& dout,
                                  const AttentionShape& shape,
                                  const AttentionOptions<double>& options,
                                  const std::vector<double>& dbias) {
  const size_t n = shape.tokens, width = shape.width();
  AttentionErrors errors{std::vector<double>(dout.size()), std::vector<double>(qkv.size()),
                         std::vector<double>(dbias.size())};
  std::vector<double> sums = dbias;
  std::vector<double> squares(dbias.size());  // Sums of squared errors.
  for (size_t b = 0; b < shape.samples; ++b) {
    for (size_t h = 0; h < shape.heads; ++h) {
      const AttentionHead<double> place(qkv.data(), shape, options, b, h);
      const size_t at = static_cast<size_t>(place.q - qkv.data());
      const size_t out = b * n * width + h * shape.head_dim;
      const Head<T> head(place, dout.data() + out, width);
      for (size_t i = 0; i < n; ++i) {
        for (size_t d = 0; d < shape.head_dim; ++d) {
          double* dqkv = &errors.dqkv[at + i * place.stride + d];
          errors.out[out + i * width + d] = head.Out(i, d);
          dqkv[0] = head.QueryGradient(i, d);
          dqkv[width] = head.KeyGradient(i, d);
          dqkv[2 * width] = head.ValueGradient(i, d);
        }
        for (size_t j = 0; j < n && !dbias.empty(); ++j) {
          const size_t element = (h * n + i) * n + j;
          sums[element] += head.ds(i, j);
          squares[element] += Square(kSpread * sums[element]) + Square(head.ScoreGradient(i, j));
          errors.dbias[element] = std::sqrt(squares[element]) + kVanished;
        }
      }
    }
  }
  return errors;
}

template AttentionErrors ErrorsOfAttention<float>(const std::vector<double>&,
                                                  const std::vector<double>&, const AttentionShape&,
                                                  const AttentionOptions<double>&,
                                                  const std::vector<double>&);
template AttentionErrors ErrorsOfAttention<Bf16>(const std::vector<double>&,
                                                 const std::vector<double>&, const AttentionShape&,
                                                 const AttentionOptions<double>&,
                                                 const std::vector<double>&);

}  // namespace penstock::check_bench
