#include "trainer/app/confusion_matrix.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/app/commands.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ConfusionMatrix OfFourRows() {
  ConfusionMatrix matrix(3);
  matrix.Add(std::vector<float>{5, 1, 2, 0, 1, 3}, std::vector<float>{0, 1});
  matrix.Add(std::vector<float>{7, 7, 7, 0, -1, 4}, std::vector<float>{1, 2});
  return matrix;
}

TEST(ConfusionMatrixTest, CountsTheLikeliestClassOfEachLabel) {
  const ConfusionMatrix matrix = OfFourRows();
  EXPECT_THAT(matrix.Grid({}, "holdout").counts, ElementsAre(1, 0, 0, 1, 0, 1, 0, 0, 1));
  EXPECT_EQ(matrix.records(), 4u);
  EXPECT_EQ(matrix.hits(), 2u);
}

TEST(ConfusionMatrixTest, NamesClassesAndTheSplit) {
  const CountGrid grid = OfFourRows().Grid({"ant", "bee"}, "holdout");
  EXPECT_THAT(grid.row_names, ElementsAre("ant", "bee", "2"));
  EXPECT_EQ(grid.column_names, grid.row_names);
  EXPECT_EQ(grid.subtitle, "holdout: accuracy 50.0 % over 4 records");
}

TEST(EvaluateCommandTest, ThePictureIsAPng) {
  EvaluateOptions options;
  options.records.manifest = "m";
  options.confusion_matrix = "matrix.jpg";
  EXPECT_THAT(CheckEvaluate(options), StatusIs(absl::StatusCode::kInvalidArgument,
                                               HasSubstr("'matrix.jpg' must end in .png")));
  options.confusion_matrix = "matrix.PNG";
  EXPECT_OK(CheckEvaluate(options));
}

}  // namespace
}  // namespace penstock
