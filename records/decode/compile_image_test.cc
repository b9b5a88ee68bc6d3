// Tests the operation `image`: what a spec may say, and what rows become.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "gtest/gtest.h"
#include "records/decode/program.h"
#include "records/decode/testing/compile_text.h"
#include "records/decode/testing/variable_row.h"
#include "records/image/image_transform.h"
#include "records/image/self_test_images.h"
#include "records/image/testing/grey16_png.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Image(const std::string& operations) {
  return absl::StrCat(R"(tensor { name: "x" image { feature: "jpeg" )", operations, "} }\n");
}

constexpr char kRandom[] = "random_resized_crop { height: 24 width: 32 } flip: 0.5 ";
constexpr char kCentral[] = "resize_shorter { side: 32 } center_crop { height: 28 width: 24 } ";

TEST(CompileImageTest, TheTensorIsBytesWhateverTheDtype) {
  for (const WireDtype dtype : {WireDtype::kI8, WireDtype::kBf16, WireDtype::kF64}) {
    const auto program = CompileText(Image(kRandom) + R"(
        tensor { name: "grey" image { feature: "jpeg" channels: 1 resize { height: 5 width: 7 } } })",
                                     dtype);
    ASSERT_THAT(program, IsOk());
    ASSERT_EQ(program->tensors().size(), 2u);
    EXPECT_EQ(program->features().size(), 1u);
    EXPECT_EQ(program->tensors()[0].dtype, Dtype::kU8);
    EXPECT_THAT(program->tensors()[0].shape, ElementsAre(24, 32, 3));
    EXPECT_THAT(program->tensors()[1].shape, ElementsAre(5, 7, 1));
    EXPECT_TRUE(program->images().decodes());
    EXPECT_TRUE(program->fallible());
  }
}

TEST(CompileImageTest, KnowsWhatIsRandom) {
  const auto random = [](const std::string& operations) {
    const auto program = CompileText(Image(operations));
    EXPECT_THAT(program, IsOk());
    return program.ok() && program->images().random;
  };
  EXPECT_TRUE(random(kRandom));
  EXPECT_TRUE(random("random_crop { height: 8 width: 8 padding: 4 padding_mode: REFLECT }"));
  EXPECT_TRUE(random("resize { height: 8 width: 8 } flip: 0.5"));
  EXPECT_FALSE(random("resize { height: 8 width: 8 }"));
  EXPECT_FALSE(random(kCentral));
  EXPECT_FALSE(CompileText(R"(tensor { name: "y" label { feature: "y" } })")->images().decodes());
}

TEST(CompileImageTest, RefusesWhatMakesNoImage) {
  ExpectInvalid(Image(""), "has no output size: give one of random_resized_crop, resize");
  ExpectInvalid(Image("resize { height: 8 }"), "the output size 0x8 is missing");
  ExpectInvalid(Image("resize_shorter { side: 8 }"), "resize_shorter needs center_crop");
  ExpectInvalid(Image("resize { height: 8 width: 8 } center_crop { height: 8 width: 8 }"),
                "center_crop needs resize_shorter");
  ExpectInvalid(Image("resize_shorter { side: 8 } center_crop { height: 9 width: 8 }"),
                "do not fit a picture whose shorter side is 8");
  ExpectInvalid(Image("channels: 2 resize { height: 8 width: 8 }"), "channels are 2, not 1 or 3");
  ExpectInvalid(Image("flip: 1.5 resize { height: 8 width: 8 }"),
                "flip is 1.5, but must be a probability");
  ExpectInvalid(Image("random_resized_crop { height: 8 width: 8 area: 0.5 }"),
                "area has 1 number(s): give the smallest and the largest");
  ExpectInvalid(Image("random_resized_crop { height: 8 width: 8 area: [0.5, 2] }"),
                "are not 0 < area_min <= area_max <= 1");
  ExpectInvalid(Image("resize { height: 8 width: 8 } interpolation: NEAREST scaled_decoding: true"),
                "scaled_decoding cannot be used with interpolation NEAREST");
  ExpectInvalid(Image("random_crop { height: 8 width: 8 } scaled_decoding: true"),
                "random_crop does not resize, so scaled_decoding has no use");
  ExpectInvalid(R"(tensor { name: "x" image { resize { height: 8 width: 8 } } })",
                "names no feature");
}

TEST(CompileImageTest, RefusesToPackImages) {
  EXPECT_THAT(CompileText(Image(kRandom), WireDtype::kPacked),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("dtype 'packed' sends features as they are, and servers decode "
                                 "images: choose another --dtype")));
}

// Rows of the feature `jpeg`, and their decoding.
class ImageRows {
 public:
  explicit ImageRows(const std::string& spec) : program_(*CompileText(spec)) {}

  void Add(std::span<const uint8_t> jpeg, int64_t ordinal) {
    rows_.push_back(VariableRow(true, 1, jpeg));
    ordinals_.push_back(ordinal);
  }
  // Appends the outputs tensor by tensor.
  DecodeOutcome Decode(uint64_t key, std::vector<std::vector<uint8_t>>& out) {
    std::vector<const uint8_t*> column;
    for (const FeatureRow& row : rows_) column.push_back(row.data());
    const FeatureColumn columns[] = {column.data()};
    std::vector<uint8_t*> outputs;
    out.clear();
    for (const TensorInfo& tensor : program_.tensors()) {
      out.emplace_back(tensor.row_bytes * rows_.size());
    }
    for (std::vector<uint8_t>& tensor : out) outputs.push_back(tensor.data());
    return program_.DecodeRows(columns, rows_.size(), outputs,
                               {.images = {&transform_, key, ordinals_}});
  }

 private:
  const Program program_;
  std::vector<FeatureRow> rows_;
  std::vector<int64_t> ordinals_;
  ImageTransform transform_;
};

TEST(DecodeImageTest, DrawsBelongToKeyAndOrdinalAndView) {
  ImageRows rows(Image(kRandom) + Image("view: 3 " + std::string(kRandom)).replace(15, 3, "\"z\""));
  const auto images = SelfTestImages();
  for (size_t i = 0; i < images.size(); ++i) rows.Add(images[i], static_cast<int64_t>(7 * i));
  std::vector<std::vector<uint8_t>> out;
  EXPECT_FALSE(rows.Decode(99, out).failure);
  ImageTransform transform;
  const ImageOps ops{.crop = RandomResizedCropOp{.output = {.width = 32, .height = 24}},
                     .flip_probability = 0.5};
  for (const size_t view : {0, 3}) {
    for (size_t i = 0; i < images.size(); ++i) {
      std::vector<uint8_t> want(ops.output_bytes());
      ASSERT_THAT(transform.Apply(images[i], ops, Uniforms(ImageKey(99, 7 * i, view)), want),
                  IsOk());
      const auto begin = out[view / 3].begin() + static_cast<ptrdiff_t>(i * want.size());
      EXPECT_TRUE(std::equal(want.begin(), want.end(), begin)) << view << " " << i;
    }
  }
}

TEST(DecodeImageTest, ARecordThatStandsForAnotherKeepsItsOwnDraws) {
  ImageRows own(Image(kRandom)), standing(Image(kRandom));
  own.Add(SelfTestImages()[0], 5);
  standing.Add(SelfTestImages()[0], static_cast<int64_t>(5 | uint64_t{1} << 63));
  std::vector<std::vector<uint8_t>> a, b;
  EXPECT_FALSE(own.Decode(1, a).failure);
  EXPECT_FALSE(standing.Decode(1, b).failure);
  EXPECT_EQ(a, b);
}

TEST(DecodeImageTest, AFailureNamesRowFeatureAndReason) {
  ImageRows rows(Image(kCentral));
  const std::span<const uint8_t> good = SelfTestImages()[0];
  rows.Add(good, 0);
  rows.Add(good.first(good.size() / 2), 1);
  rows.Add({}, 2);
  std::vector<std::vector<uint8_t>> out;
  const DecodeOutcome outcome = rows.Decode(0, out);
  ASSERT_TRUE(outcome.failure);
  EXPECT_EQ(outcome.failure->row, 1u);
  // This is a fact about the record. kDataLoss would make clients ask other servers.
  EXPECT_THAT(outcome.failure->status,
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("feature 'jpeg'")));
}

TEST(DecodeImageTest, Scales16BitGreyIfAskedTo) {
  ImageRows rows(
      Image("channels: 1 interpolation: NEAREST grey16: SCALE resize { height: 1 width: 8 }"));
  const std::string png = Grey16Png();
  rows.Add(BytesOf(png), 0);
  std::vector<std::vector<uint8_t>> out;
  EXPECT_FALSE(rows.Decode(0, out).failure);
  EXPECT_THAT(out.at(0), ElementsAre(0, 0, 1, 1, 1, 128, 255, 255));
}

TEST(DecodeImageTest, CountsFilesThatWereFilled) {
  ImageRows rows(Image(absl::StrCat(kCentral, "truncated: FILL ")));
  const std::span<const uint8_t> good = SelfTestImages()[0];
  rows.Add(good.first(good.size() - 20), 0);
  rows.Add(good, 1);
  std::vector<std::vector<uint8_t>> out;
  const DecodeOutcome outcome = rows.Decode(0, out);
  EXPECT_FALSE(outcome.failure);
  EXPECT_EQ(outcome.counters.images.truncated, 1u);
  // The library warns at the end of the data.
  EXPECT_EQ(outcome.image_notes, (std::vector<ImageNote>{{0, true, 1}}));
}

TEST(BuiltinImageSpecTest, ParametersChangeSizeAndLabels) {
  const auto train = LoadSpec("images-train");
  ASSERT_THAT(train, IsOk());
  EXPECT_EQ(train->tensor(0).image().random_resized_crop().height(), 224u);
  const auto small = LoadSpec("images-train:72,label-1");
  ASSERT_THAT(small, IsOk());
  EXPECT_EQ(small->tensor(0).image().random_resized_crop().width(), 72u);
  EXPECT_EQ(small->tensor(1).label().add(), -1);
  const auto eval = LoadSpec("images-eval:72");
  ASSERT_THAT(eval, IsOk());
  EXPECT_EQ(eval->tensor(0).image().resize_shorter().side(), 82u);
  EXPECT_EQ(eval->tensor(0).image().center_crop().height(), 72u);
  for (const auto& spec : {*train, *small, *eval}) {
    EXPECT_THAT(Program::Compile(spec, WireDtype::kI8), IsOk());
  }
  EXPECT_EQ(LoadSpec("images-eval:224")->SerializeAsString(),
            LoadSpec("images-eval")->SerializeAsString());
}

TEST(BuiltinImageSpecTest, OtherParametersAreRefused) {
  for (const std::string name :
       {"images-train:", "images-train:0", "images-train:72,", "images-train:label",
        "images-train:label1", "images-eval:-72", "chess:72", "chess:label-1"}) {
    EXPECT_THAT(LoadSpec(name), StatusIs(absl::StatusCode::kInvalidArgument,
                                         HasSubstr("is neither a size of images (72) nor")))
        << name;
  }
}

}  // namespace
}  // namespace penstock
