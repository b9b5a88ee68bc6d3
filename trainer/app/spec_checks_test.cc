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

v1::DecodeSpec Spec(absl::string_view text) { return ParseSpec(text, "test").value(); }

class CheckImageSpecTest : public testing::Test {
 protected:
  static absl::Status Check(absl::string_view image) {
    const std::string label = R"(tensor { name: "label" label { feature: "class" } })";
    return CheckImageSpec("--spec a", ModelConfig::Named("vit").value(),
                          Spec(absl::StrCat(image, label)), "--spec images-train");
  }
};

TEST_F(CheckImageSpecTest, TakesPixelsHoweverTheirShapeIsTold) {
  EXPECT_OK(Check(R"(tensor { name: "image" bytes { feature: "p" length: 15552 } })"));
  EXPECT_OK(Check(R"(tensor { name: "image" bytes { feature: "p" shape: [ 72, 72, 3 ] } })"));
}

TEST_F(CheckImageSpecTest, NamesTheTensorsThatThereAre) {
  for (const char* image :
       {R"(tensor { name: "image" bytes { feature: "p" shape: [ 71, 72, 3 ] } })",
        R"(tensor { name: "picture" bytes { feature: "p" length: 15552 } })",
        R"(tensor { name: "image" number { feature: "p" type: FLOAT count: 3888 } })"}) {
    EXPECT_THAT(Check(image), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("--model vit reads image u8 [72, 72, 3]")));
  }
  EXPECT_THAT(Check(R"(tensor { name: "image" bytes { feature: "p" length: 3 } })").message(),
              HasSubstr("--spec a has image u8 [3], label i64 []; "));
}

TEST(CheckImageSpecLabelTest, IsAWholeNumber) {
  const v1::DecodeSpec spec = Spec(R"(
      tensor { name: "image" bytes { feature: "p" length: 15552 } }
      tensor { name: "label" label { feature: "class" type: FLOAT } })");
  EXPECT_THAT(
      CheckImageSpec("--spec a", ModelConfig::Named("vit").value(), spec, "--spec images-train"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("label f32 []; ")));
}

class CheckSpecsTest : public testing::Test {
 protected:
  static absl::Status Check(absl::string_view model, const v1::DecodeSpec& spec,
                            const v1::DecodeSpec& eval_spec) {
    return CheckSpecs(options_, ModelConfig::Named(model).value(), spec, eval_spec);
  }
  static std::string Error(absl::string_view model, const v1::DecodeSpec& spec) {
    return std::string(Check(model, spec, spec).message());
  }

  static inline const TrainerOptions options_;
};

TEST_F(CheckSpecsTest, EachModelReadsItsOwn) {
  const v1::DecodeSpec chess = LoadSpec("chess").value(),
                       images = LoadSpec("images-eval:72").value();
  EXPECT_OK(Check("tiny", chess, chess));
  EXPECT_OK(Check("vit-tiny", images, images));
  EXPECT_THAT(Check("vit-tiny", images, chess).message(),
              HasSubstr("give --eval-spec images-eval:72"));
  EXPECT_THAT(Error("vit-tiny", chess), HasSubstr("give --spec images-train:72"));
}

TEST_F(CheckSpecsTest, ImagesForAModelOfBoardsNameTheModelsThatReadThem) {
  EXPECT_THAT(Error("tiny", LoadSpec("images-eval").value()),
              AllOf(HasSubstr("has no mate_score called score, which --model tiny predicts"),
                    HasSubstr("it has image u8 [224, 224, 3], label i64 []. These are images"),
                    EndsWith("give --model vit-small or --model vit-tiny --spec images-train:72")));
  EXPECT_THAT(Error("tiny", Spec(R"(
                  tensor { name: "image" bytes { feature: "p" shape: [ 72, 72, 3 ] } }
                  tensor { name: "label" label { feature: "class" } })")),
              EndsWith("give --model vit or --model vit-tiny"));
}

TEST_F(CheckSpecsTest, OtherDataCannotBeTrainedOn) {
  EXPECT_THAT(Error("tiny", Spec(R"(tensor { name: "age" number { feature: "age" count: 1 } })")),
              AllOf(HasSubstr("it has age i64 [1]"), HasSubstr("read other data")));
}

}  // namespace
}  // namespace penstock
