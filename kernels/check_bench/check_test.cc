// Tests of what a failed check says about the place of its failure.
#include "kernels/check_bench/check.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/check_bench/report.h"
#include "kernels/numeric/wire.h"

namespace penstock::check_bench {
namespace {

const double kNan = std::nan(""), kInfinity = std::numeric_limits<double>::infinity();

// Its check is "sum/f32/4". Bounds have no margin.
class CheckerTest : public testing::Test {
 protected:
  CheckerTest() { checker_.Begin("sum/f32/4"); }

  const Outcome& last() const { return checker_.outcomes().back(); }
  std::string said() const { return Description(last()); }
  std::string Json() const {
    Findings found;
    found.checks = {last()};
    const std::string report = Report(found);
    const size_t begin = report.find("{\"check\""), end = report.find('}', begin);
    return report.substr(begin, end - begin + 1);
  }

  BlockLimit limit_{0};
  Checker checker_{"", /*margin=*/1, limit_};
};

TEST_F(CheckerTest, ClosenessNamesTheFirstElementBeyondTheBoundAndCountsAll) {
  checker_.Close<float>("y", {1, 1.25f, -7, 1}, {1, 1, 1, 1}, 0.125);

  EXPECT_FALSE(last().passed());
  EXPECT_EQ(said(),
            "sum/f32/4: y: error 8, bound 0.125; element 1 is 1.25 instead of 1; wrong elements: 2 "
            "of 4");
}

TEST_F(CheckerTest, AnElementAtTheBoundIsRight) {
  // The expected values' root mean square is 2.
  checker_.Close<double>("y", {2.5, 2}, {2, 2}, 0.25);

  EXPECT_TRUE(last().passed());
  EXPECT_EQ(last().error, 0.25);
  EXPECT_FALSE(last().wrong);
}

TEST_F(CheckerTest, AnElementJustBeyondTheBoundIsWrong) {
  checker_.Close<double>("y", {2, std::nextafter(2.5, 3)}, {2, 2}, 0.25);

  EXPECT_FALSE(last().passed());
  ASSERT_TRUE(last().wrong);
  EXPECT_EQ(last().wrong->index, 1u);
  EXPECT_EQ(last().wrong->wrong, 1u);
}

TEST_F(CheckerTest, TheMarginCountsForElementsToo) {
  Checker lenient("", /*margin=*/2, limit_);
  lenient.Close<double>("y", {2.5, 2, 3.5}, {2, 2, 2}, 0.25);

  ASSERT_TRUE(lenient.outcomes()[0].wrong);
  EXPECT_EQ(lenient.outcomes()[0].wrong->index, 2u);
  EXPECT_EQ(lenient.outcomes()[0].wrong->wrong, 1u);
}

TEST_F(CheckerTest, TheRoundingOfAResultIsNoError) {
  // 1 + 2^-8 lies halfway between two neighbours in bf16.
  checker_.Close<Bf16>("y", {FromFloat<Bf16>(1 + 0x1p-8f)}, {1 + 0x1p-8}, 0);

  EXPECT_TRUE(last().passed());
}

TEST_F(CheckerTest, EachElementHasItsOwnError) {
  checker_.Within<float>("m", {1.5f, 1.5f, 1.5f}, {1, 1, 1}, {0.5, 0.25, 1});

  EXPECT_EQ(said(),
            "sum/f32/4: m: error 2, bound 1; element 1 is 1.5 instead of 1; wrong elements: 1 of "
            "3");
}

TEST_F(CheckerTest, NanIsWrongOnEitherSide) {
  checker_.Close<float>("y", {1, NAN, NAN}, {1, 1, 1}, 100);
  EXPECT_FALSE(last().passed());
  EXPECT_EQ(said(),
            "sum/f32/4: y: error nan, bound 100; element 1 is nan instead of 1; wrong elements: 2 "
            "of 3");
  checker_.Within<float>("y", {1, 2}, {1, kNan}, {1, 1});
  EXPECT_FALSE(last().passed());
  EXPECT_EQ(said(),
            "sum/f32/4: y: error nan, bound 1; element 1 is 2 instead of nan; wrong elements: 1 of "
            "2");
}

TEST_F(CheckerTest, InfinityIsWrong) {
  checker_.Close<float>("y", {1, -INFINITY}, {1, 1}, 100);
  EXPECT_FALSE(last().passed());
  EXPECT_EQ(last().wrong->value, -kInfinity);
  checker_.Within<float>("y", {INFINITY}, {1}, {1});
  EXPECT_FALSE(last().passed());
  EXPECT_EQ(last().wrong->value, kInfinity);
}

TEST_F(CheckerTest, ArraysOfDifferentSizesFailAndSayBoth) {
  checker_.Close<float>("y", {1, 1}, {1, 1, 1}, 100);
  EXPECT_FALSE(last().passed());
  EXPECT_EQ(said(), "sum/f32/4: y: error nan, bound 100; elements: 2 instead of 3");
  checker_.Within<float>("y", {1, 1, 1}, {1, 1}, {1, 1});
  EXPECT_FALSE(last().passed());
  EXPECT_EQ(said(), "sum/f32/4: y: error nan, bound 1; elements: 3 instead of 2");
  checker_.SameBits<float>("y", {}, {1});
  EXPECT_EQ(said(), "sum/f32/4: y: error 1, bound 0; elements: 0 instead of 1");
  checker_.Equal<float>("y", {1}, {});
  EXPECT_EQ(said(), "sum/f32/4: y: error 1, bound 0; elements: 1 instead of 0");
}

TEST_F(CheckerTest, EmptyArraysAreEqual) {
  checker_.Close<float>("y", {}, {}, 0);
  EXPECT_TRUE(last().passed());
  checker_.SameBits<float>("y", {}, {});
  EXPECT_TRUE(last().passed());
  EXPECT_FALSE(last().wrong);
}

TEST_F(CheckerTest, ZerosOfBothSignsAreEqualButHaveDifferentBits) {
  checker_.Equal<float>("y", {0.0f}, {-0.0f});
  EXPECT_TRUE(last().passed());
  checker_.SameBits<float>("y", {1, 0.0f}, {1, -0.0f});
  EXPECT_EQ(said(),
            "sum/f32/4: y: error 1, bound 0; element 1 is 0 instead of -0; wrong elements: 1 of 2");
}

TEST_F(CheckerTest, NansOfTheSameBitsHaveTheSameBitsButAreNotEqual) {
  checker_.SameBits<float>("y", {NAN}, {NAN});
  EXPECT_TRUE(last().passed());
  checker_.Equal<float>("y", {NAN}, {NAN});
  EXPECT_FALSE(last().passed());
  EXPECT_EQ(last().wrong->wrong, 1u);
}

TEST_F(CheckerTest, HalvesAreShownAsNumbers) {
  checker_.Equal<Fp16>("halves", {ToWire<Fp16>(1)}, {ToWire<Fp16>(2)});

  EXPECT_EQ(last().wrong->expected, 2 * last().wrong->value);
}

// Writes `calls` into the second element of `to` on each call.
struct Counting {
  cudaError_t operator()() {
    to->data()[1] = ++calls;
    return cudaSuccess;
  }
  DeviceArray<float>* to;
  float calls = 0;
};

TEST_F(CheckerTest, ASecondRunThatDiffersNamesTheOutputAndBothValues) {
  DeviceArray<float> same(3), other(4), also(4);

  checker_.RunTwice(Counting{&other}, same, other, also);

  EXPECT_FALSE(last().passed());
  EXPECT_EQ(said(),
            "sum/f32/4: the same bits twice: error 1, bound 0; output 2 of 3: element 1 is 2 "
            "instead of 1; wrong elements: 1 of 4");
}

TEST_F(CheckerTest, TheOnlyOutputHasNoNumber) {
  DeviceArray<float> only(2);

  checker_.RunTwice(Counting{&only}, only);

  EXPECT_EQ(last().wrong->array, "");
  EXPECT_EQ(last().wrong->index, 1u);
}

TEST_F(CheckerTest, TwoEqualRunsPass) {
  DeviceArray<float> x(3), y(2);

  checker_.RunTwice([&] { return cudaSuccess; }, x, y);

  EXPECT_TRUE(last().passed());
  EXPECT_FALSE(last().wrong);
}

TEST_F(CheckerTest, AShapeLastsUntilTheNextCheck) {
  checker_.Shape({{"samples", size_t{1} << 30}, {"rate", 0.1}});
  checker_.True("y", false);
  EXPECT_EQ(said(), "sum/f32/4: y: error 1, bound 0; samples=1073741824 rate=0.1");
  checker_.Begin("sum/f32/5");
  checker_.True("y", false);
  EXPECT_EQ(said(), "sum/f32/5: y: error 1, bound 0");
}

TEST_F(CheckerTest, WithoutACheckThereIsNoName) {
  Checker checker("sum", /*margin=*/1, limit_);
  EXPECT_FALSE(checker.Begin("pool"));
  checker.True("no check has a name that begins with sum", false);
  EXPECT_EQ(Description(checker.outcomes()[0]),
            "no check has a name that begins with sum: error 1, bound 0");
}

TEST_F(CheckerTest, TheReportHasThePlaceOfAFailure) {
  checker_.Shape({{"tokens", 17}});
  checker_.Close<float>("y", {1, 1.1f, NAN}, {1, 1, 1}, 0.5);
  EXPECT_EQ(Json(), R"({"check": "sum/f32/4", "shape": "tokens=17", "what": "y", "error": null, )"
                    R"("bound": 0.5, "index": 2, "value": "nan", "expected": 1, "wrong": 1, )"
                    R"("elements": 3, "passed": false})");
}

TEST_F(CheckerTest, TheReportHasTheOutputAndTheNumbersOfElements) {
  DeviceArray<float> same(3), other(4);
  checker_.RunTwice(Counting{&other}, same, other);
  EXPECT_EQ(Json(),
            R"({"check": "sum/f32/4", "what": "the same bits twice", "error": 1, "bound": 0, )"
            R"("array": "output 2 of 2", "index": 1, "value": 2, "expected": 1, "wrong": 1, )"
            R"("elements": 4, "passed": false})");
  checker_.SameBits<float>("y", {1}, {1, 2});
  EXPECT_EQ(Json(), R"({"check": "sum/f32/4", "what": "y", "error": 1, "bound": 0, "elements": 1, )"
                    R"("expected_elements": 2, "passed": false})");
}

TEST_F(CheckerTest, TheReportOfASuccessHasNoPlace) {
  checker_.Close<float>("y", {0.1f}, {double{0.1f}}, 0);
  EXPECT_EQ(Json(),
            R"({"check": "sum/f32/4", "what": "y", "error": 0, "bound": 0, "passed": true})");
}

TEST(AllDigitsTest, TheTextReadsAsTheSameDouble) {
  for (double x : {0.1, 1 / 3.0, -2.2250738585072014e-308, 1.7976931348623157e308}) {
    EXPECT_EQ(std::stod(AllDigits(x)), x);
  }
  EXPECT_EQ(AllDigits(-kNan), "nan");
  EXPECT_EQ(AllDigits(-kInfinity), "-inf");
}

}  // namespace
}  // namespace penstock::check_bench
