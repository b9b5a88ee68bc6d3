#include "trainer/backend/device/product_rates.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/numeric/bf16.h"
#include "tests/status_matchers.h"
#include "trainer/backend/device/testing/emulated_device.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;

const ModelConfig kThreeBlocks{"small", 3, 32, 2, 48};
constexpr size_t kSamples = 2, kRepeats = 2;

std::vector<ProductRate> Measure() {
  EmulatedDevice device;
  return MeasureProducts(kThreeBlocks, kSamples, /*bf16=*/true, kRepeats, device).value();
}

TEST(ProductRatesTest, HoldsEveryProductOfATraining) {
  const std::vector<ProductRate> products = Measure();
  double flops = 0;
  for (const ProductRate& p : products) flops += double(p.count) * p.flops();
  // Padded widths on a device: features 40, scores 8. The features have no gradient.
  constexpr double kTokens = 64 * kSamples, kDim = 32, kHidden = 48;
  const double blocks = 3 * 3 * kTokens * (4 * kDim * kDim + 2 * kDim * kHidden);
  const double ends = 2 * kTokens * 40 * kDim + 3 * kSamples * (kDim * kDim + kDim * 8);
  EXPECT_DOUBLE_EQ(flops, 2 * (blocks + ends));
  EXPECT_THAT(products, Contains(AllOf(Field(&ProductRate::kind, DeviceOpKind::kLinear),
                                       Field(&ProductRate::in, 32), Field(&ProductRate::out, 96),
                                       Field(&ProductRate::count, 3))));
}

TEST(ProductRatesTest, TimesAreOfOneAndTheRateIsOfAll) {
  const std::vector<ProductRate> products = Measure();
  double flops = 0, seconds = 0;
  for (const ProductRate& p : products) {
    EXPECT_GT(p.time.count(), 0);
    flops += double(p.count) * p.flops();
    seconds += double(p.count) * p.time.count();
  }
  EXPECT_DOUBLE_EQ(RateOf(products), flops / seconds);
}

TEST(ProductRatesTest, GelusAreTimedApartAsWell) {
  size_t apart = 0;
  for (const ProductRate& p : Measure()) {
    const bool gelu =
        p.kind == DeviceOpKind::kLinearGelu || p.kind == DeviceOpKind::kLinearBackwardGelu;
    EXPECT_EQ(p.apart.has_value(), gelu) << DeviceOpName(p.kind);
    if (gelu) ++apart;
  }
  EXPECT_GE(apart, 2u);
}

// Memory contains NaNs at first. The operands must be neither NaN nor zero.
TEST(ProductRatesTest, OperandsAreFilled) {
  EmulatedDevice device;
  size_t products = 0;
  device.set_watch([&](const DeviceOp& op, DeviceQueue, absl::FunctionRef<absl::Status()> execute) {
    const absl::Status status = execute();
    if (op.kind == DeviceOpKind::kLinear) {
      const float y = ToFloat(op.at<Bf16>(3)[0]);
      EXPECT_TRUE(std::isfinite(y) && y != 0) << y;
      ++products;
    }
    return status;
  });
  EXPECT_OK(MeasureProducts(kThreeBlocks, kSamples, true, kRepeats, device).status());
  EXPECT_GT(products, 0u);
}

TEST(ProductRatesTest, WhatTheDeviceLacksIsSaid) {
  EmulatedDevice device({.has_products = false});
  EXPECT_THAT(MeasureProducts(kThreeBlocks, kSamples, true, kRepeats, device),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("linear")));
  EmulatedDevice small({.total_bytes = 1 << 20});
  EXPECT_THAT(MeasureProducts(kThreeBlocks, 1000, true, kRepeats, small),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("training takes")));
}

}  // namespace
}  // namespace penstock
