// Tests what Program::Compile() accepts, plans and refuses.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "records/decode/program.h"
#include "records/decode/spec.h"
#include "records/decode/testing/compile_text.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A spec of one bits tensor. Later fields in `more` replace or extend these.
std::string Bits(const std::string& more) {
  return absl::StrCat("tensor { name: 'x' bits { feature: 'd' feature_bytes: 4 ", more, " } }");
}

std::string Score(const std::string& more) {
  return absl::StrCat(
      "tensor { name: 'x' mate_score { feature: 's' mate_feature: 'd' mate_feature_bytes: 4 ", more,
      " } }");
}

// Uses bits from anywhere, with signs that differ between bytes: all that a table can express.
v1::DecodeSpec SpecOfScatteredBits(int tensors) {
  v1::DecodeSpec spec;
  for (int t = 0; t < tensors; ++t) {
    spec.add_tensor()->set_name(absl::StrCat("t", t));
    v1::Bits& bits = *spec.mutable_tensor(t)->mutable_bits();
    bits.set_feature("d");
    bits.set_feature_bytes(64);
    bits.add_dims(512);
    for (uint32_t bit = 0; bit < 512; ++bit) {
      if ((bit / 8 + 1) >> (bit % 8) & 1) bits.add_negative(bit);
    }
  }
  return spec;
}

TEST(CompileTest, TheDtypesOfASpecShareItsTables) {
  SpecTables tables;
  const v1::DecodeSpec spec = SpecOfScatteredBits(2);
  ASSERT_OK(Program::Compile(spec, WireDtype::kF64, tables));
  const size_t bytes = tables.bytes();
  EXPECT_GT(bytes, 2u * 512);
  ASSERT_OK(Program::Compile(spec, WireDtype::kI8, tables));
  EXPECT_EQ(tables.bytes(), bytes);
}

TEST(CompileTest, ASpecOfManyTensorsKeepsFewByteTables) {
  SpecTables tables;
  ASSERT_OK(Program::Compile(SpecOfScatteredBits(256), WireDtype::kI8, tables));
  EXPECT_LT(tables.bytes(), size_t{256} * 512 * 20 + size_t{64} * 2048);
}

TEST(CompileTest, PlansChess) {
  ASSERT_OK_AND_ASSIGN(const v1::DecodeSpec spec, LoadSpec("chess"));
  ASSERT_OK_AND_ASSIGN(const Program program, Program::Compile(spec, WireDtype::kI8));
  ASSERT_EQ(program.features().size(), 2);
  EXPECT_EQ(program.features()[0].name, "d");
  EXPECT_EQ(program.features()[0].count, 194);
  EXPECT_EQ(program.features()[1].type, FeatureType::kInt64);
  ASSERT_EQ(program.tensors().size(), 3);
  EXPECT_THAT(program.tensors()[0].shape, ElementsAre(8, 8, 24));
  EXPECT_THAT(program.tensors()[1].shape, ElementsAre(10));
  EXPECT_THAT(program.tensors()[2].shape, IsEmpty());
  EXPECT_EQ(program.tensors()[2].dtype, Dtype::kF32);
  EXPECT_EQ(program.row_bytes(), 1550);
}

TEST(CompileTest, ChessRowsHaveTheSizesOfTheDesign) {
  ASSERT_OK_AND_ASSIGN(const v1::DecodeSpec spec, LoadSpec("chess"));
  const std::pair<WireDtype, size_t> kSizes[] = {{WireDtype::kPacked, 202},
                                                 {WireDtype::kBf16, 2 * 1546 + 4},
                                                 {WireDtype::kF32, 6188},
                                                 {WireDtype::kF64, 8 * 1547}};
  for (const auto& [dtype, bytes] : kSizes) {
    ASSERT_OK_AND_ASSIGN(const Program program, Program::Compile(spec, dtype));
    EXPECT_EQ(program.row_bytes(), bytes) << WireDtypeName(dtype);
  }
}

TEST(CompileTest, PackedTensorsAreTheFeatures) {
  ASSERT_OK_AND_ASSIGN(const v1::DecodeSpec spec, LoadSpec("chess"));
  ASSERT_OK_AND_ASSIGN(const Program program, Program::Compile(spec, WireDtype::kPacked));
  ASSERT_EQ(program.tensors().size(), 2);
  EXPECT_EQ(program.tensors()[0].name, "d");
  EXPECT_EQ(program.tensors()[0].dtype, Dtype::kU8);
  EXPECT_THAT(program.tensors()[0].shape, ElementsAre(194));
  EXPECT_EQ(program.tensors()[1].name, "s");
  EXPECT_EQ(program.tensors()[1].dtype, Dtype::kI64);
  EXPECT_THAT(program.tensors()[1].shape, ElementsAre(1));
}

TEST(CompileTest, FingerprintFollowsTheSpecAndNotTheDtype) {
  ASSERT_OK_AND_ASSIGN(const Program one, CompileText(Bits("dims: 4")));
  ASSERT_OK_AND_ASSIGN(const Program packed, CompileText(Bits("dims: 4"), WireDtype::kPacked));
  ASSERT_OK_AND_ASSIGN(const Program other, CompileText(Bits("dims: 5")));
  EXPECT_EQ(one.fingerprint(), packed.fingerprint());
  EXPECT_NE(one.fingerprint(), other.fingerprint());
}

TEST(CompileTest, FingerprintOfChessIsFixed) {
  ASSERT_OK_AND_ASSIGN(const v1::DecodeSpec spec, LoadSpec("chess"));
  ASSERT_OK_AND_ASSIGN(const Program program, Program::Compile(spec, WireDtype::kI8));
  EXPECT_EQ(program.fingerprint(), 4561858476459530219u);
}

TEST(CompileTest, ZeroParametersAreTheDefaults) {
  EXPECT_THAT(CompileText(Score("")), IsOk());
  EXPECT_THAT(CompileText(Score("a: 1 b: 2 k: 0.5")), IsOk());
}

TEST(CompileTest, RefusesAnEmptySpec) { ExpectInvalid("", "has no tensor"); }

TEST(CompileTest, RefusesBadTensorNames) {
  ExpectInvalid("tensor { label { feature: 'l' } }", "has no name");
  ExpectInvalid("tensor { name: '../x' label { feature: 'l' } }", "letters, digits, '_' and '-'");
  ExpectInvalid(
      absl::StrCat("tensor { name: '", std::string(129, 'x'), "' label { feature: 'l' } }"),
      "at most 128");
  ExpectInvalid(Bits("dims: 1") + Bits("dims: 1"), "tensor 1 'x': another tensor has this name");
}

TEST(CompileTest, RefusesATensorWithoutOperation) {
  ExpectInvalid("tensor { name: 'x' }", "tensor 0 'x': has no operation");
}

TEST(CompileTest, RefusesFieldsOfANewerVersion) {
  v1::DecodeSpec spec;
  v1::TensorSpec& tensor = *spec.add_tensor();
  tensor.set_name("x");
  tensor.GetReflection()->MutableUnknownFields(&tensor)->AddVarint(90, 1);
  EXPECT_THAT(Program::Compile(spec, WireDtype::kI8),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("field 90 of penstock.v1.TensorSpec is unknown")));
}

TEST(CompileTest, RefusesBadFeatures) {
  ExpectInvalid("tensor { name: 'x' label { } }", "names no feature");
  ExpectInvalid("tensor { name: 'x' bytes { feature: 'd' } }",
                "give length or shape, or pad or ragged for any number of bytes");
  ExpectInvalid("tensor { name: 'x' number { feature: 'n' } }",
                "give count or shape, or pad or ragged for any number of values");
  ExpectOverLimit(
      absl::StrCat("tensor { name: 'x' label { feature: '", std::string(257, 'x'), "' } }"),
      "has 257 bytes; the limit is 256");
}

TEST(CompileTest, RefusesAFeatureOfTwoKinds) {
  ExpectInvalid(Bits("dims: 1") + "tensor { name: 'y' bytes { feature: 'd' length: 5 } }",
                "feature 'd' is bytes[5] here and bytes[4] in an earlier tensor");
  ExpectInvalid(Bits("dims: 1") + "tensor { name: 'y' label { feature: 'd' } }",
                "feature 'd' is int64[1] here and bytes[4] in an earlier tensor");
  ExpectInvalid("tensor { name: 'x' mate_score { feature: 'd' mate_feature: 'd' } }",
                "feature 'd'");
}

TEST(CompileTest, RefusesBadDims) {
  ExpectInvalid(Bits(""), "dims is empty");
  ExpectInvalid(Bits("dims: [2, 0]"), "dims has an axis of size 0");
  ExpectOverLimit(Bits("dims: [1, 1, 1, 1, 1, 1, 1, 1, 1]"), "dims has 9 axes; the limit is 8");
  ExpectOverLimit(Bits("dims: [4294967295, 4294967295, 4294967295]"), "more than 1048576 bits");
}

TEST(CompileTest, RefusesBitsOutsideOfTheFeature) {
  EXPECT_THAT(CompileText(Bits("first_bit: 1 dims: 31")), IsOk());
  ExpectInvalid(Bits("first_bit: 2 dims: 31"),
                "bits 2 to 32 are outside of feature 'd' of 4 bytes (32 bits)");
  ExpectInvalid(Bits("first_bit: 4294967295 dims: 1"), "bits 4294967295 to 4294967295 are outside");
}

TEST(CompileTest, RefusesATransposeThatIsNoPermutation) {
  for (const char* transpose : {"[0, 0]", "[1, 2]", "[0]", "[0, 1, 2]"}) {
    ExpectInvalid(Bits(absl::StrCat("dims: [2, 3] transpose: ", transpose)),
                  absl::StrCat("transpose ", transpose, " is no permutation of the 2 axes"));
  }
}

TEST(CompileTest, RefusesAShapeOfAnotherSize) {
  ExpectInvalid(Bits("dims: [2, 3] shape: 7"), "shape [7] holds 7 elements, dims [2, 3] 6");
  ExpectInvalid(Bits("dims: [2, 3] shape: [6, 0]"), "shape has an axis of size 0");
}

TEST(CompileTest, RefusesBadSigns) {
  ExpectInvalid(Bits("dims: [2, 3] sign_axis: 2"), "sign_axis 2 is none of the 2 axes");
  ExpectInvalid(Bits("dims: [2, 3] sign_axis: 1 negative: 3"),
                "negative index 3 is outside of axis 1 of size 3");
  ExpectInvalid(Bits("dims: [2, 3] negative: [1, 1]"), "negative index 1 is given twice");
}

TEST(CompileTest, RefusesBadScoreParameters) {
  ExpectInvalid(Score("a: 1.5"), "a = 1.5 is not in (0, 1]");
  ExpectInvalid(Score("a: -0.5"), "a = -0.5");
  ExpectInvalid(Score("a: nan"), "a = nan");
  ExpectInvalid(Score("b: 1"), "b = 1 is not above 1");
  ExpectInvalid(Score("b: inf"), "b = inf");
  ExpectInvalid(Score("k: -400"), "k = -400 is not positive");
  ExpectInvalid(Score("k: nan"), "k = nan");
  ExpectInvalid(Score("mate_bit: 32"),
                "mate_bit 32 is outside of feature 'd' of 4 bytes (32 bits)");
}

TEST(CompileTest, RefusesAnUnknownNumberType) {
  v1::DecodeSpec spec;
  v1::TensorSpec& tensor = *spec.add_tensor();
  tensor.set_name("x");
  tensor.mutable_number()->set_type(static_cast<v1::Number::Type>(7));
  EXPECT_THAT(Program::Compile(spec, WireDtype::kI8),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("type 7 is neither")));
}

TEST(CompileTest, RefusesRowsOverTheLimit) {
  ExpectOverLimit("tensor { name: 'x' bytes { feature: 'd' length: 67108865 } }",
                  "a record has 67108865 bytes; the limit is 67108864");
  ExpectOverLimit("tensor { name: 'x' number { feature: 'd' count: 4294967295 } }", "the limit is");
  std::string many;
  for (int i = 0; i < 3; ++i) {
    absl::StrAppend(&many, "tensor { name: 'x", i, "' bytes { feature: 'd' length: 33000000 } }");
  }
  EXPECT_THAT(CompileText(many),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("a row has 99000000 bytes; the limit is 67108864")));
}

TEST(CompileTest, RefusesMoreBitsOrTensorsThanTheLimit) {
  const std::string half = "bits { feature: 'd' feature_bytes: 131072 dims: 600000 } }";
  ExpectOverLimit("tensor { name: 'x'" + half + "tensor { name: 'y'" + half,
                  "tensor 1 'y': the spec expands more than 1048576 bits");
  std::string many;
  for (int i = 0; i < 257; ++i) absl::StrAppend(&many, "tensor { name: 'x", i, "' }");
  ExpectOverLimit(many, "has 257 tensors; the limit is 256");
}

}  // namespace
}  // namespace penstock
