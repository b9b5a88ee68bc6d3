#include "cli/pack/columns.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

TEST(ColumnsTest, ParsesWhatItPrints) {
  ASSERT_OK_AND_ASSIGN(const Columns columns,
                       Columns::Parse("id:int64,price:float,a:b:bytes,name"));
  EXPECT_EQ(columns.Text(), "id:int64,price:float,a:b:bytes,name");
  EXPECT_EQ(columns.Find("a:b")->type, FeatureType::kBytes);
  EXPECT_EQ(columns.Find("name")->type, FeatureType::kNone);
  EXPECT_EQ(columns.Find("other"), nullptr);
}

TEST(ColumnsTest, AddsNothingToChosenOnes) {
  ASSERT_OK_AND_ASSIGN(Columns chosen, Columns::Parse("id"));
  EXPECT_EQ(chosen.FindOrAdd("other"), nullptr);
  EXPECT_EQ(chosen.FindOrAdd("id")->name, "id");
  Columns any = Columns::Parse("").value();
  EXPECT_EQ(any.FindOrAdd("other")->name, "other");
  EXPECT_EQ(any.all().size(), 1u);
}

TEST(ColumnsTest, RefusesWrongTexts) {
  for (const auto& [text, why] : {std::pair{"id:int32", "'int32' is not int64, float or bytes"},
                                  std::pair{"id,,x", "a column has no name"},
                                  std::pair{"id,x,id:float", "'id' is named twice"}}) {
    EXPECT_THAT(Columns::Parse(text), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)));
  }
}

TEST(ColumnsTest, TypesOfCells) {
  for (const char* text : {"0", "-7", "+7", "9223372036854775807", " 5"}) {
    EXPECT_EQ(TypeOfCell(text), FeatureType::kInt64) << text;
  }
  for (const char* text : {"0.5", "-1e10", ".5", "nan", "-inf", "1e-60"}) {
    EXPECT_EQ(TypeOfCell(text), FeatureType::kFloat) << text;
  }
  for (const char* text : {"x", "1x", "9223372036854775808", "1e39", "1e999", "0x10", "-", "1 2"}) {
    EXPECT_EQ(TypeOfCell(text), FeatureType::kBytes) << text;
  }
  EXPECT_EQ(TypeOfCell(""), FeatureType::kNone);
}

TEST(ColumnsTest, CommonTypes) {
  EXPECT_EQ(CommonType(FeatureType::kInt64, FeatureType::kFloat), FeatureType::kFloat);
  EXPECT_EQ(CommonType(FeatureType::kNone, FeatureType::kInt64), FeatureType::kInt64);
  EXPECT_EQ(CommonType(FeatureType::kBytes, FeatureType::kInt64), FeatureType::kBytes);
  EXPECT_EQ(CommonType(FeatureType::kFloat, FeatureType::kNone), FeatureType::kFloat);
}

TEST(ColumnsTest, OnlyInfinityBecomesInfinite) {
  float value = 0;
  EXPECT_FALSE(NarrowToFloat(1e39, value));
  EXPECT_TRUE(NarrowToFloat(INFINITY, value));
  EXPECT_TRUE(NarrowToFloat(3.4e38, value));
  EXPECT_TRUE(ParseFloat("Infinity", value));
  EXPECT_FALSE(ParseFloat("1e400", value));
}

}  // namespace
}  // namespace penstock
