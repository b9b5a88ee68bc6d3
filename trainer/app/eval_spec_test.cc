#include "trainer/app/eval_spec.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "records/decode/spec.h"

namespace penstock {
namespace {

v1::DecodeSpec ImageSpec(absl::string_view operations) {
  return ParseSpec(absl::StrCat("tensor { name: \"image\" image { feature: \"i\" ", operations,
                                " } } tensor { name: \"label\" label { feature: \"l\" } }"),
                   "test")
      .value();
}

std::string EvalTextOf(const v1::DecodeSpec& spec) { return EvalSpecOf(spec).ShortDebugString(); }

TEST(EvalSpecOfTest, TheBuiltInSpecsMatchAtEverySize) {
  for (const char* parameters : {"", ":72", ":72,label-1", ":96", ":100", ":224"}) {
    const auto train = LoadSpec(absl::StrCat("images-train", parameters)).value();
    const auto eval = LoadSpec(absl::StrCat("images-eval", parameters)).value();
    EXPECT_EQ(EvalTextOf(train), eval.ShortDebugString()) << parameters;
  }
}

TEST(EvalSpecOfTest, ARandomPartBecomesTheCentralOneWhateverItsShape) {
  EXPECT_EQ(EvalTextOf(ImageSpec("orient: true random_resized_crop { height: 40 width: 70 } "
                                 "interpolation: NEAREST flip: 0.5 view: 2")),
            ImageSpec("orient: true resize_shorter { side: 80 } center_crop { height: 40 "
                      "width: 70 } interpolation: NEAREST view: 2")
                .ShortDebugString());
}

TEST(EvalSpecOfTest, OnlyChanceIsRemoved) {
  const auto resized = ImageSpec("resize { height: 8 width: 8 }");
  EXPECT_EQ(EvalTextOf(ImageSpec("resize { height: 8 width: 8 } flip: 0.5")),
            resized.ShortDebugString());
  for (const char* operations :
       {"resize { height: 8 width: 8 }", "resize { height: 8 width: 8 } flip: 1",
        "random_crop { height: 8 width: 8 padding: 2 }"}) {
    const auto spec = ImageSpec(operations);
    EXPECT_EQ(EvalTextOf(spec), spec.ShortDebugString()) << operations;
  }
  const auto chess = LoadSpec("chess").value();
  EXPECT_EQ(EvalTextOf(chess), chess.ShortDebugString());
}

TEST(RandomOperationsOfTest, NamesThemWithTheirTensor) {
  EXPECT_EQ(RandomOperationsOf(ImageSpec("random_crop { height: 8 width: 8 } flip: 0.5")),
            "random_crop of tensor 'image', flip of tensor 'image'");
  EXPECT_EQ(RandomOperationsOf(LoadSpec("images-train").value()),
            "random_resized_crop of tensor 'image', flip of tensor 'image'");
  for (const char* spec : {"images-eval", "chess"}) {
    EXPECT_EQ(RandomOperationsOf(LoadSpec(spec).value()), "");
  }
  EXPECT_EQ(RandomOperationsOf(ImageSpec("resize { height: 8 width: 8 } flip: 1")), "");
}

}  // namespace
}  // namespace penstock
