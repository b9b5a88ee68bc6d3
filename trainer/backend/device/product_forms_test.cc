#include "trainer/backend/device/product_forms.h"

#include <optional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/backend/device/testing/emulated_device.h"
#include "trainer/backend/device/testing/product.h"

namespace penstock {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

using Kind = DeviceOpKind;
constexpr ProductSize kSize{37, 40, 24}, kHead{37, 40, 8};

TEST(ProductFormsTest, PartsGiveTheWholeProduct) {
  for (const bool bf16 : {false, true}) {
    for (const Kind kind : {Kind::kLinearGelu, Kind::kLinearBackwardGelu, Kind::kLinear}) {
      const Product product(kind, kSize, bf16, /*residual=*/kind == Kind::kLinear);
      const std::vector<DeviceOp> parts = PartsOf(product.op());
      ASSERT_THAT(parts, SizeIs(2));
      for (const DeviceOp& part : parts) ASSERT_OK(EmulatedDevice::Execute(part));
      product.ExpectResults(/*in_parts=*/true);
    }
  }
}

TEST(ProductFormsTest, APlainProductHasNoParts) {
  for (const Kind kind : {Kind::kLinear, Kind::kLinearBackwardInput, Kind::kLinearBackwardWeight}) {
    EXPECT_THAT(PartsOf(Product(kind, kSize, true).op()), IsEmpty());
  }
}

TEST(ProductFormsTest, OurKernelsComputeNarrowProducts) {
  for (const bool bf16 : {false, true}) {
    for (const Kind kind :
         {Kind::kLinear, Kind::kLinearBackwardInput, Kind::kLinearBackwardWeight}) {
      const Product product(kind, kHead, bf16);
      const std::optional<DeviceOp> kernel = NarrowKernelOf(product.op());
      ASSERT_TRUE(kernel.has_value());
      ASSERT_OK(EmulatedDevice::Execute(*kernel));
      product.ExpectResults();
    }
  }
}

TEST(ProductFormsTest, OtherProductsHaveNoKernelOfOurs) {
  EXPECT_EQ(NarrowKernelOf(Product(Kind::kLinear, kSize, true).op()), std::nullopt);
  EXPECT_EQ(NarrowKernelOf(Product(Kind::kLinear, kHead, true, /*residual=*/true).op()),
            std::nullopt);
  EXPECT_EQ(NarrowKernelOf(Product(Kind::kLinearGelu, kHead, true).op()), std::nullopt);
}

TEST(ProductFormsTest, ANameTellsAResidual) {
  EXPECT_EQ(ProductKey::Of(Product(Kind::kLinear, kHead, true, true).op()).name(),
            "linear bf16 onto 37x40x8");
  EXPECT_EQ(ProductKey::Of(Product(Kind::kLinear, kHead, false).op()).name(),
            "linear fp32 37x40x8");
}

}  // namespace
}  // namespace penstock
