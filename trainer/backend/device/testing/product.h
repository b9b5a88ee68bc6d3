// Matrix products on memory of their own, compared with the references in double.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_TESTING_PRODUCT_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_TESTING_PRODUCT_H_

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "base/counter_rng.h"
#include "gtest/gtest.h"
#include "kernels/numeric/bf16.h"
#include "kernels/reference/activation.h"
#include "kernels/reference/linear.h"
#include "trainer/backend/device/device_op.h"

namespace penstock {

struct ProductSize {
  size_t rows, in, out;
};

// Numbers in device memory. Their address is a multiple of `alignment`, but not of twice as much. A
// sanitizer detects an access to the first byte after them.
class ProductArray {
 public:
  ProductArray(size_t count, bool bf16, uint64_t seed, size_t alignment = 16)
      : bf16_(bf16), bytes_(count * (bf16 ? 2 : 4)), offset_(alignment) {
    void* memory = nullptr;
    EXPECT_EQ(posix_memalign(&memory, 2 * alignment, offset_ + bytes_), 0);
    memory_.reset(memory);
    CounterRng rng(seed);
    for (size_t i = 0; i < count; ++i) Set(i, static_cast<float>(2 * rng.Uniform() - 1));
    initial_ = values();
  }

  std::vector<double> values() const {
    std::vector<double> values;
    for (size_t at = 0; at < bytes_; at += bf16_ ? 2 : 4) {
      values.push_back(bf16_ ? ToFloat(Load<Bf16>(at)) : Load<float>(at));
    }
    return values;
  }
  const std::vector<double>& initial() const { return initial_; }
  DeviceOperand operand(Access access) const { return {begin(), bytes_, access}; }

 private:
  char* begin() const { return static_cast<char*>(memory_.get()) + offset_; }
  template <typename T>
  T Load(size_t at) const {
    T value;
    std::memcpy(&value, begin() + at, sizeof(T));
    return value;
  }
  void Set(size_t i, float value) {
    const Bf16 rounded = FromFloat<Bf16>(value);
    std::memcpy(begin() + i * (bf16_ ? 2 : 4), bf16_ ? static_cast<const void*>(&rounded) : &value,
                bf16_ ? 2 : 4);
  }

  struct Freer {
    void operator()(void* memory) const { std::free(memory); }
  };
  bool bf16_;
  size_t bytes_, offset_;
  std::unique_ptr<void, Freer> memory_;
  std::vector<double> initial_;
};

// An operation on its own memory. Outputs are filled with numbers first, too.
class Product {
 public:
  static constexpr auto kTanh = reference::GeluForm::kTanh;

  Product(DeviceOpKind kind, ProductSize size, bool bf16, bool residual = false,
          size_t alignment = 16)
      : kind_(kind), size_(size), bf16_(bf16) {
    const auto [rows, in, out] = size;
    uint64_t seed = 0;
    auto add = [&](size_t count, Access access, bool is_float = false) {
      arrays_.emplace_back(count, bf16 && !is_float, ++seed, alignment);
      accesses_.push_back(access);
    };
    const bool forward = kind == DeviceOpKind::kLinear || kind == DeviceOpKind::kLinearGelu;
    add(rows * (forward ? in : out), Access::kRead);
    add(kind == DeviceOpKind::kLinearBackwardWeight ? rows * in : out * in, Access::kRead);
    if (forward) add(out, Access::kRead);
    if (kind == DeviceOpKind::kLinearGelu) add(rows * out, Access::kWrite);
    if (kind == DeviceOpKind::kLinearBackwardGelu) add(rows * in, Access::kRead);
    if (kind == DeviceOpKind::kLinearBackwardWeight) {
      add(out * in, Access::kReadWrite, /*is_float=*/true);
    } else {
      add(rows * (forward ? out : in), Access::kWrite);
    }
    if (residual) add(rows * out, Access::kRead);
  }

  DeviceOp op() const {
    static auto* const workspace = new std::vector<uint64_t>((size_t{32} << 20) / 8);
    DeviceOp op{.kind = kind_,
                .bf16 = bf16_,
                .rows = size_.rows,
                .in = size_.in,
                .out = size_.out,
                .workspace = {workspace->data(), workspace->size() * 8, Access::kWrite}};
    for (size_t i = 0; i < arrays_.size(); ++i) {
      op.operands.push_back(arrays_[i].operand(accesses_[i]));
    }
    return op;
  }
  std::vector<double> values(size_t operand) const { return arrays_[operand].values(); }
  size_t result() const { return HasResidual() ? arrays_.size() - 2 : arrays_.size() - 1; }

  // The expected value of each operand, from the reference in double.
  std::vector<std::vector<double>> Expected() const {
    const auto [rows, in, out] = size_;
    std::vector<std::vector<double>> all;
    for (const ProductArray& array : arrays_) all.push_back(array.initial());
    std::vector<double> ignored(out);
    auto at = [&](size_t i) { return all[i].data(); };
    double* to = at(result());
    if (kind_ == DeviceOpKind::kLinear) {
      const double* residual = HasResidual() ? at(4) : nullptr;
      reference::Linear<double>(at(0), at(1), at(2), residual, rows, in, out, to);
    } else if (kind_ == DeviceOpKind::kLinearGelu) {
      reference::Linear<double>(at(0), at(1), at(2), nullptr, rows, in, out, at(3));
      reference::Gelu(at(3), kTanh, rows * out, to);
    } else if (kind_ == DeviceOpKind::kLinearBackwardWeight) {
      reference::LinearBackwardWeight(at(0), at(1), rows, in, out, to, ignored.data());
    } else {
      reference::LinearBackwardInput(at(0), at(1), rows, in, out, to);
    }
    if (kind_ == DeviceOpKind::kLinearBackwardGelu) {
      reference::GeluBackward(to, at(2), kTanh, rows * in, to);
    }
    return all;
  }
  // Allows one rounding of each output, and the roundings of the floats that are added. In parts, a
  // value of up to about twice the largest output is rounded before the last part as well.
  void ExpectResults(bool in_parts = false) const {
    const std::vector<std::vector<double>> expected = Expected();
    double largest = 0;
    for (const double value : expected[result()]) largest = std::max(largest, std::abs(value));
    const double between = in_parts && bf16_ ? 2 * largest * std::ldexp(1, -8) : 0;
    for (size_t i = 0; i < arrays_.size(); ++i) {
      const bool floats = !bf16_ || accesses_[i] == Access::kReadWrite;
      const std::vector<double> actual = values(i);
      for (size_t j = 0; j < actual.size(); ++j) {
        const double bound =
            accesses_[i] == Access::kRead
                ? 0
                : between + 1e-5 + std::abs(expected[i][j]) * (floats ? 1e-6 : std::ldexp(1, -8));
        ASSERT_NEAR(actual[j], expected[i][j], bound) << "operand " << i << " at " << j;
      }
    }
  }

 private:
  bool HasResidual() const { return kind_ == DeviceOpKind::kLinear && arrays_.size() > 4; }

  const DeviceOpKind kind_;
  const ProductSize size_;
  const bool bf16_;
  std::vector<ProductArray> arrays_;
  std::vector<Access> accesses_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_TESTING_PRODUCT_H_
