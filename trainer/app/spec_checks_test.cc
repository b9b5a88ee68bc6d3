#include "trainer/app/spec_checks.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/decode/spec.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

v1::DecodeSpec Spec(absl::string_view text) { return ParseSpec(text, "test").value(); }

class CheckImageSpecTest : public testing::Test {
 protected:
  static absl::Status Check(absl::string_view image) {
    const std::string label = R"(tensor { name: "label" label { feature: "class" } })";
    const v1::DecodeSpec spec = Spec(absl::StrCat(image, label));
    return CheckImageSpec({spec, "--spec a", "--spec", "images-train"}, "--model vit",
                          ModelConfig::Named("vit").value(), {});
  }
};

TEST_F(CheckImageSpecTest, TakesPixelsHoweverTheirShapeIsTold) {
  EXPECT_OK(Check(R"(tensor { name: "image" bytes { feature: "p" length: 15552 } })"));
  EXPECT_OK(Check(R"(tensor { name: "image" bytes { feature: "p" shape: [ 72, 72, 3 ] } })"));
}

TEST_F(CheckImageSpecTest, NamesTheTensorsThatThereAre) {
  for (const char* image :
       {R"(tensor { name: "image" bytes { feature: "p" shape: [ 36, 144, 3 ] } })",
        R"(tensor { name: "image" bytes { feature: "p" shape: [ 1, 15552 ] } })",
        R"(tensor { name: "image" bytes { feature: "p" shape: [ 71, 72, 3 ] } })",
        R"(tensor { name: "picture" bytes { feature: "p" length: 15552 } })",
        R"(tensor { name: "image" number { feature: "p" type: FLOAT count: 3888 } })"}) {
    EXPECT_THAT(Check(image), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("--model vit reads image u8 [72, 72, 3]")));
  }
  EXPECT_THAT(Check(R"(tensor { name: "image" bytes { feature: "p" length: 3 } })").message(),
              HasSubstr("--spec a has tensors image u8 [3], label i64 [], but "));
}

TEST(CheckImageSpecLabelTest, IsAWholeNumber) {
  const v1::DecodeSpec spec = Spec(R"(
      tensor { name: "image" bytes { feature: "p" length: 15552 } }
      tensor { name: "label" label { feature: "class" type: FLOAT } })");
  EXPECT_THAT(CheckImageSpec({spec, "--spec a", "--spec", "images-train"}, "--model vit",
                             ModelConfig::Named("vit").value(), {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("label f32 [], but ")));
}

TEST(SpecTitleTest, NamesWhatWasChosenWhereNobodyNamedOne) {
  TrainerOptions options;
  EXPECT_EQ(SpecTitle(options, "the manifest's spec"),
            "the manifest's spec (--spec names another)");
  EXPECT_EQ(EvalSpecTitle(options, "the manifest's spec"),
            "the evaluation spec made from the manifest's spec (--spec names another)");
  options.source.spec = "a";
  options.eval_spec = "b";
  EXPECT_EQ(SpecTitle(options, ""), "--spec a");
  EXPECT_EQ(EvalSpecTitle(options, ""), "--eval-spec b");
}

class CheckSpecsTest : public testing::Test {
 protected:
  static absl::Status Check(absl::string_view model, const v1::DecodeSpec& spec,
                            const v1::DecodeSpec& eval_spec, const FeatureSummary& features) {
    return CheckSpecs({spec, eval_spec, "the training's", "the evaluation's"},
                      ModelConfig::Named(model).value(), features);
  }
  static std::string Error(absl::string_view model, const v1::DecodeSpec& spec,
                           const FeatureSummary& features) {
    return std::string(Check(model, spec, spec, features).message());
  }
  static FeatureSummary Features(std::vector<FeatureInfo> features) {
    FeatureSummary summary;
    summary.records = 1;
    summary.features = std::move(features);
    for (FeatureInfo& feature : summary.features) {
      feature.records = 1;
      feature.values = {1, 1};
      feature.bytes = {194, 194};
    }
    return summary;
  }

  const FeatureSummary chess_records_ = Features({{"d", "bytes"}, {"s", "int64"}});
  const FeatureSummary image_records_ =
      Features({{"image/encoded", "bytes"}, {"image/class/label", "int64"}});
};

TEST_F(CheckSpecsTest, EachModelReadsItsOwn) {
  const v1::DecodeSpec chess = LoadSpec("chess").value(),
                       images = LoadSpec("images-eval:72").value(), wide = Spec(R"(
      tensor { name: "image" image { feature: "image/encoded" resize { height: 36 width: 144 } } }
      tensor { name: "label" label { feature: "image/class/label" } })");
  EXPECT_OK(Check("tiny", chess, chess, chess_records_));
  EXPECT_OK(Check("vit-tiny", images, images, image_records_));
  EXPECT_THAT(Check("vit-tiny", images, chess, image_records_).message(),
              HasSubstr("give --eval-spec images-eval:72"));
  EXPECT_THAT(Check("vit-tiny", images, wide, image_records_).message(),
              AllOf(HasSubstr("has tensors image u8 [36, 144, 3], label i64 []"),
                    HasSubstr("reads image u8 [72, 72, 3]")));
  EXPECT_THAT(Error("vit-tiny", LoadSpec("images-eval").value(), image_records_),
              HasSubstr("give --spec images-train:72"));
}

// A built-in spec is proposed only if it reads the records.
TEST_F(CheckSpecsTest, AModelOfImagesIsToldWhatTheRecordsAre) {
  EXPECT_THAT(Error("vit-tiny", LoadSpec("chess").value(), chess_records_),
              AllOf(EndsWith("[72, 72, 3] and label i64 []: the records are chess positions; "
                             "give --model tiny, default or large"),
                    Not(HasSubstr("images-train"))));
  const v1::DecodeSpec photos = Spec(R"(
      tensor { name: "image" image { feature: "photo" resize { height: 8 width: 8 } } })");
  EXPECT_THAT(Error("vit-tiny", photos, Features({{"photo", "bytes"}, {"age", "int64"}})),
              AllOf(HasSubstr("write a spec that makes these tensors from the records' features"),
                    HasSubstr("photo"), Not(HasSubstr("images-train"))));
}

TEST_F(CheckSpecsTest, ImagesForAModelOfBoardsNameTheModelsThatReadThem) {
  EXPECT_THAT(
      Error("tiny", LoadSpec("images-eval").value(), image_records_),
      AllOf(HasSubstr("has no mate_score tensor 'score', which --model tiny predicts"),
            HasSubstr("its tensors are image u8 [224, 224, 3], label i64 []. These are images"),
            EndsWith("give --model vit-small or --model vit-tiny --spec images-train:72")));
  EXPECT_THAT(Error("tiny", Spec(R"(
                  tensor { name: "image" bytes { feature: "p" shape: [ 72, 72, 3 ] } }
                  tensor { name: "label" label { feature: "class" } })"),
                    Features({{"p", "bytes"}, {"class", "int64"}})),
              EndsWith("give --model vit or --model vit-tiny"));
}

TEST_F(CheckSpecsTest, OtherDataCannotBeTrainedOn) {
  EXPECT_THAT(Error("tiny", Spec(R"(tensor { name: "age" number { feature: "age" count: 1 } })"),
                    Features({{"age", "int64"}})),
              AllOf(HasSubstr("its tensors are age i64 [1]"), HasSubstr("read other data")));
}

}  // namespace
}  // namespace penstock
