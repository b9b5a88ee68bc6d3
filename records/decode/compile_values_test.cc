// Tests what Program::Compile() makes of features of any length, optional features, shapes and
// types, and what it refuses.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "base/sha256.h"
#include "gmock/gmock.h"
#include "records/decode/program.h"
#include "records/decode/spec.h"
#include "records/decode/testing/compile_text.h"
#include "records/decode/testing/elements.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Tensor(const std::string& operation, const std::string& name = "x") {
  return absl::StrCat("tensor { name: '", name, "' ", operation, " } ");
}
std::string Number(const std::string& fields) {
  return Tensor(absl::StrCat("number { feature: 'n' ", fields, " }"));
}
std::string Bytes(const std::string& fields) {
  return Tensor(absl::StrCat("bytes { feature: 'b' ", fields, " }"));
}
std::string Label(const std::string& fields) {
  return Tensor(absl::StrCat("label { feature: 'l' ", fields, " }"));
}

// The only feature of the spec.
FeatureUse UseOf(const std::string& text) {
  absl::StatusOr<Program> program = CompileText(text);
  EXPECT_OK(program);
  if (!program.ok() || program->features().size() != 1) return {};
  return program->features()[0];
}

void ExpectUse(const std::string& text, const VariableUse& want) {
  const FeatureUse use = UseOf(text);
  EXPECT_EQ(use.count, 0u) << text;
  EXPECT_TRUE(use.variable == want) << text;
}

// "x u8 [2, 3]; y i64 []"
std::string TensorsOf(const std::string& text, WireDtype dtype = WireDtype::kI8) {
  absl::StatusOr<Program> program = CompileText(text, dtype);
  if (!program.ok()) return program.status().ToString();
  std::string all;
  for (const TensorInfo& tensor : program->tensors()) {
    absl::StrAppend(&all, all.empty() ? "" : "; ", tensor.name, " ", DtypeName(tensor.dtype), " ",
                    ::testing::PrintToString(tensor.shape));
  }
  return all;
}

TEST(CompileValuesTest, IntegersAreI64ForEveryDtypeUnlessTheSpecSaysAs) {
  for (const WireDtype dtype : kExpanded) {
    EXPECT_EQ(TensorsOf(Number("count: 3"), dtype), "x i64 { 3 }");
    EXPECT_EQ(TensorsOf(Number("count: 3 as: I32"), dtype), "x i32 { 3 }");
    EXPECT_EQ(TensorsOf(Number("count: 3 as: F32"), dtype), "x f32 { 3 }");
    EXPECT_EQ(TensorsOf(Number("count: 3 as: BF16"), dtype), "x bf16 { 3 }");
    EXPECT_EQ(TensorsOf(Label("type: FLOAT"), dtype), "x f32 {}");
    EXPECT_EQ(TensorsOf(Label("add: -1"), dtype), "x i64 {}");
  }
  EXPECT_EQ(TensorsOf(Number("count: 3 type: FLOAT"), WireDtype::kBf16), "x bf16 { 3 }");
}

TEST(CompileValuesTest, AShapeReplacesTheCount) {
  EXPECT_EQ(TensorsOf(Number("shape: [2, 3]")), "x i64 { 2, 3 }");
  EXPECT_EQ(UseOf(Number("shape: [2, 3]")).count, 6u);
  EXPECT_EQ(TensorsOf(Bytes("shape: [72, 72, 3] length: 15552")), "x u8 { 72, 72, 3 }");
  EXPECT_EQ(TensorsOf(Number("shape: [2, 3]"), WireDtype::kPacked), "n i64 { 6 }");
}

TEST(CompileValuesTest, PadAsksForAnyNumberOfItems) {
  EXPECT_EQ(TensorsOf(Number("pad { length: 8 }")), "x i64 { 8 }");
  ExpectUse(Number("pad { length: 8 }"), {.max_count = 8});
  ExpectUse(Number("pad { length: 8 } truncate: true"), {});
  EXPECT_EQ(TensorsOf(Number("pad { length: 8 } shape: [2, 3]")), "x i64 { 8, 2, 3 }");
  ExpectUse(Number("pad { length: 8 } shape: [2, 3]"), {.max_count = 48, .multiple = 6});
  EXPECT_EQ(TensorsOf(Bytes("pad { length: 8 } length_tensor: 'n'")), "x u8 { 8 }; n i64 {}");
  ExpectUse(Bytes("pad { length: 8 } shape: 3"), {.max_count = 24, .multiple = 3});
}

TEST(CompileValuesTest, RaggedAlwaysHasATensorOfLengths) {
  EXPECT_EQ(TensorsOf(Number("ragged { max_length: 8 }")), "x i64 { 8 }; x_length i64 {}");
  EXPECT_EQ(TensorsOf(Bytes("ragged { max_length: 8 } length_tensor: 'n'")),
            "x u8 { 8 }; n i64 {}");
}

// "x: x_length; x_length: none".
std::string LengthsOf(const std::string& spec, WireDtype dtype = WireDtype::kI8) {
  const Program program = CompileText(spec, dtype).value();
  std::string text;
  for (const TensorInfo& tensor : program.tensors()) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", tensor.name, ": ",
                    tensor.lengths ? program.tensors()[*tensor.lengths].name : "none");
  }
  return text;
}

TEST(CompileValuesTest, ATensorKnowsThatOfItsLengths) {
  EXPECT_EQ(LengthsOf(Number("ragged { max_length: 8 }")), "x: x_length; x_length: none");
  EXPECT_EQ(LengthsOf(Tensor("label { feature: 'l' }", "y") +
                      Bytes("pad { length: 8 } length_tensor: 'n' optional: true "
                            "presence_tensor: 'has'")),
            "y: none; x: n; n: none; has: none");
  EXPECT_EQ(LengthsOf(Bytes("list { count: 4 count_tensor: 'n' } ragged { max_length: 8 }")),
            "x: x_length; x_length: none; n: none");
  EXPECT_EQ(LengthsOf(Number("pad { length: 8 }")), "x: none");
  EXPECT_EQ(LengthsOf(Number("count: 8"), WireDtype::kPacked), "n: none");
}

TEST(CompileValuesTest, OptionalFeaturesHaveEntries) {
  EXPECT_EQ(TensorsOf(Number("count: 2 optional: true presence_tensor: 'has'")),
            "x i64 { 2 }; has u8 {}");
  ExpectUse(Number("count: 2 optional: true"), {.optional = true, .min_count = 2, .max_count = 2});
  ExpectUse(Bytes("length: 2 optional: true default: 'ab'"),
            {.optional = true, .min_count = 2, .max_count = 2});
  ExpectUse(Label("optional: true default: -1"),
            {.optional = true, .min_count = 1, .max_count = 1});
  ExpectUse(Number("pad { length: 2 } optional: true"), {.optional = true, .max_count = 2});
}

TEST(CompileValuesTest, ListsOfBytesHaveACountAndALength) {
  EXPECT_EQ(TensorsOf(Bytes("list { count: 4 count_tensor: 'n' } ragged { max_length: 8 }")),
            "x u8 { 4, 8 }; x_length i64 { 4 }; n i64 {}");
  ExpectUse(Bytes("list { count: 4 } pad { length: 8 }"),
            {.list = true, .max_count = 4, .max_bytes = 8});
  ExpectUse(Bytes("list { count: 4 } pad { length: 8 } truncate: true"), {.list = true});
}

TEST(CompileValuesTest, FeatureListsAreSequences) {
  const std::string number = "number { feature_list: 'n' type: FLOAT pad { length: 5 } shape: 3 }";
  EXPECT_EQ(TensorsOf(Tensor(number)), "x f32 { 5, 3 }");
  ExpectUse(Tensor(number), {.sequence = true, .max_count = 15, .multiple = 3});
  ExpectUse(Tensor("bytes { feature_list: 'b' list { count: 5 } pad { length: 3 } }"),
            {.sequence = true, .list = true, .max_count = 5, .max_bytes = 3});
}

TEST(CompileValuesTest, TensorsOfOneFeatureUseItAlike) {
  const std::string pad = "number { feature: 'n' pad { length: 4 } }";
  ASSERT_OK_AND_ASSIGN(const Program program, CompileText(Tensor(pad, "x") + Tensor(pad, "y")));
  EXPECT_EQ(program.features().size(), 1u);
  ExpectInvalid(
      Tensor(pad, "x") + Tensor("number { feature: 'n' count: 4 }", "y"),
      "tensor 1 'y': feature 'n' is int64[4] here and int64[0 to 4] in an earlier tensor");
  ExpectInvalid(
      Tensor("number { feature: 'n' count: 4 optional: true }", "x") +
          Tensor("number { feature: 'n' pad { length: 2 } shape: 2 truncate: true }", "y"),
      "feature 'n' is int64[0 to any number by 2] here and optional int64[4] in an earlier");
  ExpectInvalid(Tensor("bytes { feature: 'b' list { count: 4 } pad { length: 2 } }", "x") +
                    Tensor("bytes { feature: 'b' list { count: 4 } pad { length: 3 } }", "y"),
                "feature 'b' is list of bytes[0 to 4] of at most 3 bytes here and list of bytes[0 "
                "to 4] of at "
                "most 2 bytes in an earlier");
  const std::string list = "number { feature_list: 'n' pad { length: 4 } ";
  ExpectInvalid(Tensor(list + "}", "x") + Tensor(list + "truncate: true }", "y"),
                "feature 'n' is feature list of int64[0 to any number] here");
}

TEST(CompileValuesTest, AFeatureListIsNotTheFeatureOfItsName) {
  ASSERT_OK_AND_ASSIGN(const Program program,
                       CompileText(Tensor("number { feature_list: 'n' pad { length: 4 } }", "x") +
                                   Tensor("number { feature: 'n' pad { length: 4 } }", "y")));
  EXPECT_EQ(program.features().size(), 2u);
}

TEST(CompileValuesTest, ARawRecordIsOneFeature) {
  const std::string raw = "records: RAW ";
  const FeatureUse use =
      UseOf(raw + Tensor("bytes { feature: 'record' pad { length: 9 } truncate: true }"));
  EXPECT_EQ(use.name, "");
  EXPECT_EQ(use.type, FeatureType::kBytes);
  const std::string fixed = raw + Tensor("bytes { feature: 'record' length: 9 }");
  EXPECT_EQ(UseOf(fixed).name, "");
  EXPECT_EQ(TensorsOf(fixed, WireDtype::kPacked), "record u8 { 9 }");
  EXPECT_OK(CompileText(raw + Tensor("bits { feature: 'record' feature_bytes: 9 dims: 72 }")));
}

TEST(CompileValuesTest, RefusesOtherFeaturesOfRawRecords) {
  const std::string raw = "records: RAW ";
  ExpectInvalid(raw + Bytes("length: 1"),
                "tensor 0 'x': feature 'b': with records: RAW, the only feature is 'record'");
  ExpectInvalid(raw + Tensor("label { feature: 'record' }"), "whole payload: bytes, not int64");
  ExpectInvalid(raw + Tensor("bytes { feature: 'record' length: 1 optional: true }"),
                "every record has it, leave out `optional`");
  ExpectInvalid(raw + Tensor("bytes { feature: 'record' list { count: 1 } pad { length: 1 } }"),
                "one value, no list");
  ExpectInvalid(raw + Tensor("bytes { feature: 'record' length: 1 }", "x") +
                    Tensor("bytes { feature: 'record' length: 2 }", "y"),
                "feature 'record' is bytes[2] here and bytes[1] in an earlier tensor");
  v1::DecodeSpec spec;
  spec.set_records(static_cast<v1::DecodeSpec::Records>(7));
  EXPECT_THAT(Program::Compile(spec, WireDtype::kI8),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("records 7 is neither")));
}

TEST(CompileValuesTest, PackedRefusesFeaturesThatVary) {
  for (const char* fields : {"pad { length: 4 }", "count: 1 optional: true"}) {
    EXPECT_THAT(
        CompileText(Number(fields), WireDtype::kPacked),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 HasSubstr("decode spec: dtype 'packed' sends features as they are, so each "
                           "needs one length; feature 'n' varies: choose another")));
  }
}

TEST(CompileValuesTest, RefusesTypesOfANewerVersion) {
  v1::DecodeSpec spec;
  v1::TensorSpec& tensor = *spec.add_tensor();
  tensor.set_name("x");
  tensor.mutable_number()->set_as(static_cast<v1::Number::As>(7));
  EXPECT_THAT(Program::Compile(spec, WireDtype::kI8),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("as 7 is none of")));
  tensor.mutable_label()->set_type(static_cast<v1::Label::Type>(7));
  EXPECT_THAT(Program::Compile(spec, WireDtype::kI8),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("type 7 is neither")));
}

TEST(CompileValuesTest, RefusesFieldsOfANewerVersionAtAnyDepth) {
  const auto add_field = [](google::protobuf::Message& message) {
    message.GetReflection()->MutableUnknownFields(&message)->AddVarint(90, 1);
  };
  const auto expect_refused = [](const v1::DecodeSpec& spec, const std::string& type) {
    EXPECT_THAT(Program::Compile(spec, WireDtype::kI8),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr(absl::StrCat("field 90 of penstock.v1.", type))));
  };
  ASSERT_OK_AND_ASSIGN(v1::DecodeSpec pad, ParseSpec(Number("pad { length: 1 }"), "test"));
  add_field(*pad.mutable_tensor(0)->mutable_number()->mutable_pad());
  expect_refused(pad, "Pad");
  ASSERT_OK_AND_ASSIGN(v1::DecodeSpec ragged,
                       ParseSpec(Number("ragged { max_length: 1 }"), "test"));
  add_field(*ragged.mutable_tensor(0)->mutable_number()->mutable_ragged());
  expect_refused(ragged, "Ragged");
  ASSERT_OK_AND_ASSIGN(v1::DecodeSpec list,
                       ParseSpec(Bytes("list { count: 1 } pad { length: 1 }"), "test"));
  add_field(*list.mutable_tensor(0)->mutable_bytes()->mutable_list());
  expect_refused(list, "Bytes.List");
}

TEST(CompileValuesTest, RefusesFieldsThatContradictOneAnother) {
  ExpectInvalid(Number("feature_list: 'm' pad { length: 1 }"),
                "give one of feature and feature_list");
  ExpectInvalid(Tensor("number { pad { length: 1 } }"), "names no feature");
  ExpectInvalid(Tensor("number { feature_list: 'm' count: 1 }"),
                "feature_list needs pad or ragged");
  ExpectInvalid(Number("count: 1 truncate: true"), "truncate needs pad or ragged");
  ExpectInvalid(Number("count: 1 length_tensor: 'n'"), "length_tensor needs pad or ragged");
  ExpectInvalid(Number("count: 1 default: 1"), "default needs optional: true");
  ExpectInvalid(Bytes("length: 1 default: 'a'"), "default needs optional: true");
  ExpectInvalid(Label("default: 1"), "default needs optional: true");
  ExpectInvalid(Number("count: 1 presence_tensor: 'p'"), "presence_tensor needs optional: true");
  ExpectInvalid(Label("presence_tensor: 'p'"), "presence_tensor needs optional: true");
  ExpectInvalid(Number("pad { length: 1 } optional: true default: 1"),
                "leave out default: with pad or ragged, a record without the feature has no");
  ExpectInvalid(Number("pad { length: 1 } count: 1"), "leave out count: pad and ragged");
  ExpectInvalid(Bytes("ragged { max_length: 1 } length: 1"), "leave out length: pad and ragged");
  ExpectInvalid(Number("count: 1 type: FLOAT as: F32"), "as is for INT64 only");
  ExpectInvalid(Label("type: FLOAT add: 1"), "add is for INT64 only");
}

TEST(CompileValuesTest, RefusesSizesThatAreNoneOrDisagree) {
  ExpectInvalid(Number("pad { }"), "pad has length 0");
  ExpectInvalid(Number("ragged { }"), "ragged has max_length 0");
  ExpectInvalid(Number("optional: true"), "give count or shape, or pad or ragged");
  ExpectInvalid(Bytes("optional: true"), "give length or shape, or pad or ragged");
  ExpectInvalid(Number("shape: [2, 3] count: 7"), "shape [2, 3] holds 6 elements, count is 7");
  ExpectInvalid(Bytes("shape: [2, 3] length: 7"), "shape [2, 3] holds 6 elements, length is 7");
  ExpectInvalid(Number("shape: [2, 0]"), "shape has an axis of size 0");
  ExpectInvalid(Number("count: 3 optional: true default: [1, 2]"),
                "default has 2 values; give 1 for all, or 3");
  ExpectInvalid(Bytes("length: 3 optional: true default: 'ab'"),
                "default has 2 bytes, but the feature has 3");
}

TEST(CompileValuesTest, RefusesListsThatSayTooLittle) {
  ExpectInvalid(Bytes("list { count: 1 }"), "list needs pad or ragged");
  ExpectInvalid(Bytes("list { } pad { length: 1 }"), "list has count 0");
  ExpectInvalid(Bytes("list { count: 1 } pad { length: 1 } shape: 1"),
                "give one of list and shape");
  ExpectInvalid(Tensor("bytes { feature_list: 'b' pad { length: 1 } }"),
                "feature_list needs list: each step has a value of its own");
}

TEST(CompileValuesTest, RefusesNumbersThatTheTensorCannotHold) {
  ExpectInvalid(Number("pad { length: 1 value: 0.5 }"),
                "pad value 0.5 must be a whole number below 2^53");
  ExpectInvalid(Number("pad { length: 1 value: 9223372036854775808 }"), "must be a whole number");
  ExpectInvalid(Number("pad { length: 1 value: nan }"), "pad value nan must be a whole number");
  // A double can hold 2^53 but not 2^53 + 1, whose text is parsed to the same double.
  ExpectInvalid(Number("pad { length: 1 value: 9007199254740993 }"), "exact");
  ExpectInvalid(Number("pad { length: 1 value: -9007199254740992 }"), "exact");
  EXPECT_OK(CompileText(Number("pad { length: 1 value: 9007199254740991 }")));
  EXPECT_OK(CompileText(Number("pad { length: 1 value: -9007199254740991 }")));
  ExpectInvalid(Number("count: 1 optional: true default: 9007199254740993"), "default 9.0072e+15");
  ExpectInvalid(Label("optional: true default: 9007199254740993"), "default 9.0072e+15");
  ExpectInvalid(Number("as: F32 pad { length: 1 value: 16777217 }"),
                "pad value: F32 cannot hold 16777217 exactly");
  ExpectInvalid(Number("as: I32 count: 1 optional: true default: 2147483648"),
                "default: I32 cannot hold 2147483648 exactly");
  ExpectInvalid(Number("type: FLOAT count: 1 optional: true default: -1e300"),
                "default -1e+300 is beyond any float");
  ExpectInvalid(Label("optional: true default: 0.5"), "default 0.5 must be a whole number");
  ExpectInvalid(Label("type: FLOAT optional: true default: 1e300"), "beyond any float");
  for (const char* value : {"256", "-1", "0.5", "nan", "1e300"}) {
    ExpectInvalid(Bytes(absl::StrCat("pad { length: 1 value: ", value, " }")),
                  "is no whole number from 0 to 255");
    ExpectInvalid(Bytes(absl::StrCat("list { count: 1 } pad { length: 1 value: ", value, " }")),
                  "is no whole number from 0 to 255");
  }
}

TEST(CompileValuesTest, RefusesNamesThatTwoTensorsHave) {
  ExpectInvalid(Number("ragged { max_length: 1 }") + Tensor("label { feature: 'l' }", "x_length"),
                "tensor 1 'x_length': another tensor has this name");
  ExpectInvalid(Number("ragged { max_length: 1 } length_tensor: 'x'"),
                "length_tensor 'x': another tensor has this name");
  ExpectInvalid(Label("optional: true presence_tensor: '../p'"),
                "presence_tensor '../p': a name is at most 128");
  ExpectInvalid(Bytes("list { count: 1 count_tensor: 'x' } pad { length: 1 }"),
                "count_tensor 'x': another tensor has this name");
}

TEST(CompileValuesTest, RefusesTensorsOverTheLimits) {
  ExpectOverLimit(Number("shape: [1, 1, 1, 1, 1, 1, 1, 1, 1]"), "shape has 9 axes; the limit is 8");
  ExpectOverLimit(Number("pad { length: 1 } shape: [1, 1, 1, 1, 1, 1, 1, 1]"),
                  "the tensor has 9 axes (8 in shape, and one for the items); the limit is 8");
  ExpectOverLimit(Number("shape: [4294967295, 4294967295]"), "holds more than 67108864 elements");
  ExpectOverLimit(Number("pad { length: 4294967295 }"), "the tensor has 4294967295 elements");
  ExpectOverLimit(Number("pad { length: 65536 } shape: 65536"),
                  "the tensor has 4294967296 elements");
}

TEST(CompileValuesTest, RefusesRowsAndNumbersOfTensorsOverTheLimits) {
  EXPECT_THAT(CompileText(Number("pad { length: 8388609 }")),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("a row has 67108872 bytes; the limit is 67108864")));
  EXPECT_THAT(CompileText(Bytes("list { count: 4294967295 } pad { length: 4294967295 }")),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("the limit is 67108864")));
  std::string many;
  for (int i = 0; i < 129; ++i) {
    absl::StrAppend(&many,
                    Tensor(absl::StrCat("number { feature: 'n", i, "' ragged { max_length: 1 } }"),
                           absl::StrCat("x", i)));
  }
  EXPECT_THAT(CompileText(many),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("tensor 128 'x128': with tensor 'x128' a row has "
                                 "257 tensors; the limit is 256")));
}

uint64_t FingerprintOf(const std::string& text) {
  const absl::StatusOr<Program> program = CompileText(text);
  EXPECT_OK(program);
  return program.ok() ? program->fingerprint() : 0;
}

// Computed as docs/reference/decode_spec.md defines it.
uint64_t WantFingerprint(const std::string& text, const std::string& versions) {
  Sha256 sha256;
  const std::string all =
      absl::StrCat("penstock decode 1\n", ParseSpec(text, "test")->SerializeAsString(), versions);
  sha256.Update(BytesOf(all));
  const Sha256::Digest digest = sha256.Finish();
  uint64_t fingerprint = 0;
  for (size_t i = 8; i-- > 0;) fingerprint = fingerprint << 8 | digest[i];
  return fingerprint;
}

TEST(FingerprintTest, CoversVersionsThatAreNotTheFirst) {
  const std::string floats = Number("count: 1 type: FLOAT");
  EXPECT_EQ(FingerprintOf(floats), WantFingerprint(floats, ""));
  const std::string integers = Number("count: 1");
  EXPECT_EQ(FingerprintOf(integers), WantFingerprint(integers, "\nnumber 2"));
  const std::string both = integers + Tensor("number { feature: 'm' count: 1 }", "y") +
                           Tensor("label { feature: 'l' }", "z");
  EXPECT_EQ(FingerprintOf(both), WantFingerprint(both, "\nnumber 2"));
}

TEST(FingerprintTest, PartsOfBytesHaveTheSecondVersion) {
  for (const char* fields : {"feature_bytes: 4 length: 3", "dims: 3"}) {
    EXPECT_EQ(FingerprintOf(Bytes(fields)), WantFingerprint(Bytes(fields), "\nbytes 2"));
  }
  const std::string label = Label("feature_bytes: 4");
  EXPECT_EQ(FingerprintOf(label), WantFingerprint(label, "\nlabel 2"));
}

TEST(FingerprintTest, OnlyTheNewOrderOfBitsHasTheSecondVersion) {
  const std::string bits = "bits { feature: 'd' feature_bytes: 2 dims: 16 ";
  const std::string old = Tensor(bits + "order: MSB_FIRST }");
  EXPECT_EQ(FingerprintOf(old), WantFingerprint(old, ""));
  const std::string lsb = Tensor(bits + "order: LSB_FIRST }");
  EXPECT_EQ(FingerprintOf(lsb), WantFingerprint(lsb, "\nbits 2"));
}

TEST(FingerprintTest, CoversAlternatives) {
  for (const char* names : {"feature: 'a|b'", "feature: 'a|b|c'"}) {
    const std::string spec = Tensor(absl::StrCat("label { ", names, " }"));
    EXPECT_EQ(FingerprintOf(spec), WantFingerprint(spec, "\nalternatives 1"));
  }
}

TEST(FingerprintTest, OperationsOfTheFirstVersionsKeepTheirs) {
  EXPECT_EQ(FingerprintOf(Bytes("length: 3")), WantFingerprint(Bytes("length: 3"), ""));
  EXPECT_EQ(FingerprintOf(Label("")), WantFingerprint(Label(""), ""));
}

}  // namespace
}  // namespace penstock
