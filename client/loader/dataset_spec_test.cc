#include "client/loader/dataset_spec.h"

#include "absl/strings/str_cat.h"
#include "client/loader/sample_names.h"
#include "client/loader/unread_features.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/dataset/made_spec.h"
#include "records/decode/program.h"
#include "records/decode/spec.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const FeatureSummary kChess = {
    100, {{"d", "bytes", false, 100, {1, 1}, {194, 194}}, {"s", "int64", false, 100, {1, 1}}}};
const FeatureSummary kTable = {
    100, {{"id", "int64", false, 100, {1, 1}}, {"x", "float", false, 100, {3, 3}}}};

constexpr char kTableSpec[] = R"(tensor { name: "id" label { feature: "id" } })";

Manifest With(const FeatureSummary& features, const std::string& spec = "",
              RecordFormat format = RecordFormat::kExample) {
  ManifestBuilder builder;
  builder.SetFeatures(features);
  builder.SetSpec(spec);
  builder.SetFormat(format);
  return *builder.Build();
}

std::string NamesOfTensors(const v1::DecodeSpec& spec) {
  std::string names;
  for (const v1::TensorSpec& tensor : spec.tensor()) names += tensor.name() + " ";
  return names;
}

TEST(ChooseSpecTest, ANamedOneIsTaken) {
  ASSERT_OK_AND_ASSIGN(const v1::DecodeSpec named, ParseSpec(kTableSpec, "test"));
  ASSERT_OK_AND_ASSIGN(const SpecChoice choice, ChooseSpec(named, With(kTable, "stored?")));
  EXPECT_EQ(NamesOfTensors(choice.spec), "id ");
  EXPECT_THAT(choice.note, IsEmpty());
}

TEST(ChooseSpecTest, ChesssFeaturesAreReadAsChess) {
  ASSERT_OK_AND_ASSIGN(const SpecChoice choice, ChooseSpec({}, With(kChess, kTableSpec)));
  EXPECT_EQ(NamesOfTensors(choice.spec), "planes flags score ");
  ASSERT_OK_AND_ASSIGN(const SpecChoice unknown, ChooseSpec({}, With({})));
  EXPECT_EQ(NamesOfTensors(unknown.spec), "planes flags score ");
}

TEST(ChooseSpecTest, RecordsWithoutFeaturesCannotBeRead) {
  EXPECT_THAT(ChooseSpec({}, With({9, {}})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("have no features")));
}

TEST(ChooseSpecTest, OtherFeaturesAreReadAsTheManifestSays) {
  ASSERT_OK_AND_ASSIGN(const SpecChoice choice, ChooseSpec({}, With(kTable, kTableSpec)));
  EXPECT_EQ(NamesOfTensors(choice.spec), "id ");
  EXPECT_THAT(choice.note, IsEmpty());
}

TEST(ChooseSpecTest, SaysWhatChessDoesNotRead) {
  FeatureSummary features = kChess;
  ASSERT_OK_AND_ASSIGN(const SpecChoice all, ChooseSpec({}, With(features)));
  EXPECT_THAT(all.note, IsEmpty());
  features.features.push_back({"extra", "int64", false, 3, {1, 1}});
  features.features.push_back({"extra", "float", false, 4, {1, 1}});
  features.features.push_back({"words", "bytes", true, 100, {1, 9}, {1, 1}, {1, 1}});
  ASSERT_OK_AND_ASSIGN(const SpecChoice choice, ChooseSpec({}, With(features)));
  EXPECT_EQ(choice.note, "not read by the spec: extra, list words");
}

TEST(ChooseSpecTest, WithoutAnyOneIsMadeAndSaid) {
  ASSERT_OK_AND_ASSIGN(const SpecChoice choice, ChooseSpec({}, With(kTable)));
  EXPECT_EQ(NamesOfTensors(choice.spec), "id x ");
  EXPECT_THAT(choice.note, HasSubstr("penstock index surveys all records"));
  ManifestBuilder surveyed;
  surveyed.SetFeatures(kTable);
  surveyed.AddShard({.path = "a", .survey = SurveyOf(kTable, FeatureIndex(kTable))});
  ASSERT_OK_AND_ASSIGN(const SpecChoice of_all, ChooseSpec({}, *surveyed.Build()));
  EXPECT_EQ(of_all.spec.SerializeAsString(), choice.spec.SerializeAsString());
  EXPECT_THAT(of_all.note, HasSubstr("--make-spec"));
  EXPECT_THAT(ChooseSpec({}, With({9, {{"x", "none", false, 9}}})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("x (none)"), HasSubstr("give one with --spec"))));
}

TEST(ChooseSpecTest, FeaturesThatTheRecordsLackAreNamed) {
  ASSERT_OK_AND_ASSIGN(const v1::DecodeSpec chess, LoadSpec("chess"));
  EXPECT_THAT(ChooseSpec(chess, With(kTable)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("feature 'd' (bytes), which the records lack"),
                             HasSubstr("id (int64), x (float)"), HasSubstr("--spec"))));
}

TEST(ChooseSpecTest, FeaturesOfAnotherTypeOrLengthAreNamed) {
  const auto check = [](const std::string& text) {
    return CheckSpecFits(*ParseSpec(text, "test"), kTable, RecordFormat::kExample);
  };
  EXPECT_THAT(check(R"(tensor { name: "x" label { feature: "x" } })"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("which is float")));
  EXPECT_THAT(check(R"(tensor { name: "x" number { feature: "x" type: FLOAT count: 4 } })"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the records have 3 values")));
  EXPECT_OK(check(R"(tensor { name: "x" number { feature: "x" type: FLOAT count: 3 } })"));
}

TEST(ChooseSpecTest, AFeatureOfTheOtherKindIsNamed) {
  const FeatureSummary sequence = {
      9, {{"moves", "int64", true, 9, {1, 5}, {}, {1, 1}}, {"user", "int64", false, 9, {1, 1}}}};
  EXPECT_THAT(ChooseSpec({}, With(sequence, "tensor { name: 'm' label { feature: 'moves' } }")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("the manifest's spec: the spec expects feature 'moves'"),
                             HasSubstr("write `feature_list`"))));
  ASSERT_OK_AND_ASSIGN(
      const v1::DecodeSpec list,
      ParseSpec("tensor { name: 'u' number { feature_list: 'user' ragged { max_length: 3 } } }",
                "test"));
  EXPECT_THAT(ChooseSpec(list, With(sequence)), StatusIs(absl::StatusCode::kInvalidArgument,
                                                         HasSubstr("write `feature` in the spec")));
}

FeatureInfo Images(const std::string& name, uint64_t records) {
  return {name, "bytes", false, records, {1, 1}, {100, 900}, {}, records};
}

// Features of WebDataset samples with images in two formats.
FeatureSummary Samples(uint64_t jpg, uint64_t png) {
  return {100,
          {{"__key__", "bytes", false, 100, {1, 1}, {4, 4}},
           {"cls", "int64", false, 100, {1, 1}},
           Images("jpg", jpg),
           Images("png", png)}};
}

TEST(ChooseSpecTest, AlternativesFitWhereRecordsHaveThem) {
  const auto check = [](const std::string& feature, const FeatureSummary& features) {
    const std::string text = absl::StrCat("tensor { name: 'x' image { feature: '", feature,
                                          "' resize { height: 8 width: 8 } } }");
    return CheckSpecFits(*ParseSpec(text, "test"), features, RecordFormat::kExample);
  };
  EXPECT_OK(check("jpg|jpeg|png", Samples(60, 40)));
  EXPECT_THAT(check("gif|bmp", Samples(60, 40)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("which the records lack")));
  EXPECT_THAT(check("cls|label", Samples(60, 40)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("which is int64")));
  EXPECT_THAT(check("jpg|png", Samples(100, 100)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("every record has 'jpg' and 'png': name the one to read")));
  FeatureSummary own = Samples(100, 100);
  own.features.push_back(Images("jpg|png", 100));
  EXPECT_OK(check("jpg|png", own));
}

TEST(ChooseSpecTest, AlternativesAreRead) {
  ASSERT_OK_AND_ASSIGN(
      const v1::DecodeSpec spec,
      ParseSpec("tensor { name: 'x' bytes { feature: 'jpg|png' pad { length: 900 } } }", "test"));
  EXPECT_THAT(UnreadBySpec(spec, Samples(60, 40)), ElementsAre("__key__", "cls"));
}

TEST(ChooseSpecTest, TheBuiltInSpecsOfImagesReadAWebDataset) {
  for (const char* name : {"images-train:72", "images-eval:72,label-1"}) {
    ASSERT_OK_AND_ASSIGN(const v1::DecodeSpec builtin, LoadSpec(name));
    ASSERT_OK_AND_ASSIGN(const SpecChoice choice, ChooseSpec(builtin, With(Samples(60, 40))));
    EXPECT_EQ(choice.spec.tensor(0).image().feature(), "jpg|jpeg|png");
    EXPECT_EQ(choice.spec.tensor(1).label().feature(), "cls");
    EXPECT_EQ(choice.spec.tensor(1).label().add(), builtin.tensor(1).label().add());
    EXPECT_OK(ChooseSpec(builtin, With(Samples(100, 0))));
    // A record has both images.
    EXPECT_THAT(ChooseSpec(builtin, With(Samples(100, 100))),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("which the records lack")));
  }
}

TEST(ChooseSpecTest, OtherDataAndOtherSpecsKeepTheirNames) {
  FeatureSummary both = Samples(60, 40);
  both.features.push_back(Images("image/encoded", 100));
  both.features.push_back({"image/class/label", "int64", false, 100, {1, 1}});
  ASSERT_OK_AND_ASSIGN(const v1::DecodeSpec builtin, LoadSpec("images-train:72"));
  EXPECT_EQ(WithSampleNames(builtin, both).SerializeAsString(), builtin.SerializeAsString());
  EXPECT_EQ(WithSampleNames(builtin, kTable).SerializeAsString(), builtin.SerializeAsString());
  v1::DecodeSpec other = builtin;
  other.add_tensor()->mutable_label()->set_feature("other");
  EXPECT_EQ(WithSampleNames(other, Samples(60, 40)).SerializeAsString(), other.SerializeAsString());
}

// The rows are too large with any dtype, because a value has 8 bytes. ChooseSpec() does not know
// the dtype that a loader will use.
TEST(ChooseSpecTest, RowsThatNoServerSendsAreRefusedByTheChecksOfSpecs) {
  ASSERT_OK_AND_ASSIGN(
      const v1::DecodeSpec spec,
      ParseSpec(R"(tensor { name: "t" number { feature: "id" ragged { max_length: 400000 } } })",
                "test"));
  EXPECT_THAT(CheckSpecFits(spec, kTable, RecordFormat::kExample),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("one row has 3200008 bytes; the largest that fits"),
                             HasSubstr("'t', i64 [400000] of feature 'id'"))));
  EXPECT_OK(ChooseSpec(spec, With(kTable)).status());
}

TEST(ChooseSpecTest, RawRecordsNeedASpecForThem) {
  ASSERT_OK_AND_ASSIGN(const v1::DecodeSpec chess, LoadSpec("chess"));
  const FeatureSummary raw = {9, {{"record", "bytes", false, 9, {1, 1}, {20, 30}}}};
  EXPECT_THAT(ChooseSpec(chess, With(raw, "", RecordFormat::kRaw)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("records: RAW")));
  ASSERT_OK_AND_ASSIGN(const SpecChoice made, ChooseSpec({}, With(raw, "", RecordFormat::kRaw)));
  EXPECT_EQ(NamesOfTensors(made.spec), "record ");
}

TEST(ChooseSpecTest, SaysThatImagesAreClippedUnlessTheSpecScalesThem) {
  const FeatureInfo depth = {"depth", "bytes", false, 9, {1, 1}, {20, 30}, {}, 9, /*grey16=*/4};
  const Manifest manifest = With({9, {depth}});
  ASSERT_OK_AND_ASSIGN(const SpecChoice made, ChooseSpec({}, manifest));
  EXPECT_THAT(made.note, AllOf(HasSubstr("'depth' has PNG with 16-bit grey in 4 of 9 records"),
                               HasSubstr("`grey16: SCALE`")));
  v1::DecodeSpec scaled = made.spec;
  scaled.mutable_tensor(0)->mutable_image()->set_grey16(v1::Image::SCALE);
  ASSERT_OK_AND_ASSIGN(const SpecChoice named, ChooseSpec(scaled, manifest));
  EXPECT_EQ(named.note, "");
}

// Has every kind of feature for which MakeSpec() writes something.
TEST(ChooseSpecTest, MadeSpecsCompile) {
  const FeatureSummary all = {100,
                              {{"label", "int64", false, 100, {1, 1}},
                               {"maybe", "int64", false, 31, {1, 1}},
                               {"ints", "int64", false, 100, {13, 13}},
                               {"maybe_ints", "int64", false, 31, {13, 13}},
                               {"floats", "float", false, 100, {13, 13}},
                               {"tokens", "int64", false, 31, {1, 199}},
                               {"fixed", "bytes", false, 100, {1, 1}, {194, 194}},
                               {"maybe_fixed", "bytes", false, 31, {1, 1}, {194, 194}},
                               {"text", "bytes", false, 31, {1, 1}, {0, 80}},
                               {"names", "bytes", false, 31, {0, 3}, {2, 17}},
                               {"pair", "bytes", false, 100, {2, 2}, {4, 4}},
                               {"frames", "float", true, 100, {3, 9}, {}, {4, 4}},
                               {"words", "bytes", true, 31, {0, 9}, {1, 12}, {1, 1}},
                               {"steps", "int64", true, 100, {5, 5}, {}, {1, 1}}}};
  const std::string text = MakeSpec(all, RecordFormat::kExample);
  ASSERT_OK_AND_ASSIGN(const v1::DecodeSpec spec, ParseSpec(text, "made"));
  EXPECT_EQ(spec.tensor_size(), 14);
  ASSERT_OK_AND_ASSIGN(const Program program, Program::Compile(spec, WireDtype::kI8));
  EXPECT_EQ(program.features().size(), 14u);
  EXPECT_OK(CheckSpecFits(spec, all, RecordFormat::kExample));
}

}  // namespace
}  // namespace penstock
