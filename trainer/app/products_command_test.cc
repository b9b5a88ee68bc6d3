#include "trainer/app/commands.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using std::chrono::microseconds;
using testing::HasSubstr;

const std::vector<ProductRate> kProducts = {
    {DeviceOpKind::kLinear, 1000, 100, 10, 3, microseconds(1), std::nullopt},
    {DeviceOpKind::kLinearGelu, 1000, 100, 10, 1, microseconds(5), microseconds(4)}};

TEST(ProductsCommandTest, TheTableHasEachAndTheRateOfAll) {
  const std::string table = ProductsTable(kProducts);
  EXPECT_THAT(table, HasSubstr("linear and GELU"));
  EXPECT_THAT(table, testing::ContainsRegex("1000    100     10     3        1.0      2.0\n"));
  EXPECT_THAT(table, testing::ContainsRegex("5.0      0.4        4.0\n"));
  EXPECT_THAT(table, HasSubstr("all products: 1.0 TFLOP/s"));  // 8 MFLOP in 8 us.
}

TEST(ProductsCommandTest, ProgramsGetTheSame) {
  ProductsOptions options;
  const auto json =
      nlohmann::json::parse(ProductsJson(options, {"Card", "", "cuBLASLt 13.1.0"}, kProducts));
  EXPECT_EQ(json["device"], "Card");
  EXPECT_NEAR(json["tflops"], 1, 1e-9);
  EXPECT_EQ(json["products"][0]["count"], 3);
  EXPECT_FALSE(json["products"][0].contains("apart_us"));
  EXPECT_NEAR(json["products"][1]["apart_us"], 4, 1e-9);
}

TEST(ProductsCommandTest, TheCpuIsRefused) {
  ProductsOptions options;
  options.device = "cpu";
  EXPECT_THAT(RunProducts(options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("on a GPU")));
}

}  // namespace
}  // namespace penstock
