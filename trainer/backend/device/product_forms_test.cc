#include "trainer/backend/device/product_forms.h"

#include <cmath>
#include <memory>

#include "base/counter_rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/numeric/bf16.h"
#include "tests/status_matchers.h"
#include "trainer/backend/device/kernel_launch.h"
#include "trainer/backend/device/testing/emulated_device.h"

namespace penstock {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

using Kind = DeviceOpKind;
constexpr size_t kRows = 37, kIn = 40, kOut = 24;

// A product on its own memory, which is filled with numbers.
class Product {
 public:
  Product(Kind kind, bool bf16, size_t out, bool residual = false)
      : op_{.kind = kind, .bf16 = bf16, .rows = kRows, .in = kIn, .out = out} {
    const bool forward = kind == Kind::kLinear || kind == Kind::kLinearGelu;
    Add(kRows * (forward ? kIn : out), Access::kRead);
    Add(kind == Kind::kLinearBackwardWeight ? kRows * kIn : out * kIn, Access::kRead);
    if (forward) Add(out, Access::kRead);
    if (kind == Kind::kLinearGelu) Add(kRows * out, Access::kWrite);
    if (kind == Kind::kLinearBackwardGelu) Add(kRows * kIn, Access::kRead);
    if (kind == Kind::kLinearBackwardWeight) {
      Add(out * kIn, Access::kReadWrite, /*is_float=*/true);
    } else {
      Add(kRows * (forward ? out : kIn), Access::kWrite);
    }
    if (residual) Add(kRows * out, Access::kRead);
  }

  const DeviceOp& op() const { return op_; }
  double at(size_t operand, size_t i) const {
    const bool wide = !op_.bf16 || op_.operands[operand].access == Access::kReadWrite;
    return wide ? op_.at<float>(operand)[i] : ToFloat(op_.at<Bf16>(operand)[i]);
  }
  size_t count(size_t operand) const {
    const bool wide = !op_.bf16 || op_.operands[operand].access == Access::kReadWrite;
    return op_.operands[operand].bytes / (wide ? 4 : 2);
  }

 private:
  void Add(size_t count, Access access, bool is_float = false) {
    const bool wide = !op_.bf16 || is_float;
    const size_t bytes = count * (wide ? 4 : 2);
    void* memory = nullptr;
    ASSERT_EQ(posix_memalign(&memory, 16, bytes), 0);
    memory_.emplace_back(memory, std::free);
    CounterRng rng(memory_.size());
    for (size_t i = 0; i < count; ++i) {
      const auto value = static_cast<float>(2 * rng.Uniform() - 1);
      if (wide) {
        static_cast<float*>(memory)[i] = value;
      } else {
        static_cast<Bf16*>(memory)[i] = FromFloat<Bf16>(value);
      }
    }
    op_.operands.push_back({memory, bytes, access});
  }

  DeviceOp op_;
  std::vector<std::unique_ptr<void, void (*)(void*)>> memory_;
};

// Allows one rounding between the parts, and one of the result.
void ExpectNear(const Product& a, const Product& b, bool bf16) {
  const double rounding = bf16 ? std::ldexp(1, -7) : 1e-5;
  for (size_t operand = 0; operand < a.op().operands.size(); ++operand) {
    for (size_t i = 0; i < a.count(operand); ++i) {
      ASSERT_NEAR(a.at(operand, i), b.at(operand, i), rounding * (1 + std::abs(a.at(operand, i))))
          << DeviceOpName(a.op().kind) << " operand " << operand << " at " << i;
    }
  }
}

// The last operation of an emulated product needs memory of its own.
absl::Status RunWithWorkspace(DeviceOp op) {
  std::vector<char> workspace(KernelWorkspace(op));
  op.workspace = {workspace.data(), workspace.size(), Access::kWrite};
  return EmulatedDevice::Execute(op);
}

TEST(ProductFormsTest, PartsGiveTheWholeProduct) {
  for (const bool bf16 : {false, true}) {
    for (const Kind kind : {Kind::kLinearGelu, Kind::kLinearBackwardGelu, Kind::kLinear}) {
      const bool residual = kind == Kind::kLinear;
      const Product whole(kind, bf16, kOut, residual), apart(kind, bf16, kOut, residual);
      ASSERT_OK(EmulatedDevice::Execute(whole.op()));
      ASSERT_THAT(PartsOf(apart.op()), SizeIs(2));
      for (const DeviceOp& part : PartsOf(apart.op())) ASSERT_OK(EmulatedDevice::Execute(part));
      ExpectNear(whole, apart, bf16);
    }
  }
}

TEST(ProductFormsTest, APlainProductHasNoParts) {
  for (const Kind kind : {Kind::kLinear, Kind::kLinearBackwardInput, Kind::kLinearBackwardWeight}) {
    EXPECT_THAT(PartsOf(Product(kind, true, kOut).op()), IsEmpty());
  }
}

TEST(ProductFormsTest, OurKernelsComputeNarrowProducts) {
  for (const bool bf16 : {false, true}) {
    for (const Kind kind :
         {Kind::kLinear, Kind::kLinearBackwardInput, Kind::kLinearBackwardWeight}) {
      const Product plain(kind, bf16, 8), narrow(kind, bf16, 8);
      ASSERT_OK(EmulatedDevice::Execute(plain.op()));
      const std::optional<DeviceOp> kernel = NarrowKernelOf(narrow.op());
      ASSERT_TRUE(kernel.has_value());
      ASSERT_OK(RunWithWorkspace(*kernel));
      ExpectNear(plain, narrow, bf16);
    }
  }
}

TEST(ProductFormsTest, OtherProductsHaveNoKernelOfOurs) {
  EXPECT_EQ(NarrowKernelOf(Product(Kind::kLinear, true, kOut).op()), std::nullopt);
  EXPECT_EQ(NarrowKernelOf(Product(Kind::kLinear, true, 8, /*residual=*/true).op()), std::nullopt);
  EXPECT_EQ(NarrowKernelOf(Product(Kind::kLinearGelu, true, 8).op()), std::nullopt);
}

TEST(ProductFormsTest, ANameTellsAResidual) {
  EXPECT_EQ(ProductKey::Of(Product(Kind::kLinear, true, 8, true).op()).name(),
            "linear bf16 onto 37x40x8");
  EXPECT_EQ(ProductKey::Of(Product(Kind::kLinear, false, 8).op()).name(), "linear fp32 37x40x8");
}

}  // namespace
}  // namespace penstock
