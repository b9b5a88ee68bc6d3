#include "records/dataset/made_spec.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The spec for one feature of 100 records.
std::string Made(const FeatureInfo& feature) {
  return MakeSpec({100, {feature}}, RecordFormat::kExample);
}

FeatureInfo Feature(const std::string& name, const std::string& type, ValueRange values,
                    ValueRange bytes = {}) {
  return {name, type, false, 100, values, bytes};
}

TEST(MadeSpecTest, ASingleNumberIsALabel) {
  EXPECT_THAT(Made(Feature("x", "float", {1, 1})),
              HasSubstr("label { feature: \"x\" type: FLOAT } }"));
  EXPECT_THAT(Made(Feature("label", "int64", {1, 1})),
              HasSubstr("\n# label: int64, values 1\n"
                        "tensor { name: \"label\" label { feature: \"label\" } }\n"));
}

TEST(MadeSpecTest, FixedNumbersHaveACount) {
  EXPECT_THAT(Made(Feature("x", "float", {3, 3})),
              HasSubstr("number { feature: \"x\" type: FLOAT count: 3 } }"));
  EXPECT_THAT(Made(Feature("x", "int64", {13, 13})),
              HasSubstr("number { feature: \"x\" count: 13 } }"));
}

TEST(MadeSpecTest, ListsOfAnyLengthArePaddedToTheLongestRoundedUp) {
  EXPECT_THAT(Made(Feature("tokens", "int64", {1, 199})),
              HasSubstr("number { feature: \"tokens\" pad { length: 256 } "
                        "length_tensor: \"tokens_length\" } }"));
  EXPECT_THAT(Made(Feature("tokens", "float", {0, 5})), HasSubstr("pad { length: 8 }"));
}

TEST(MadeSpecTest, BytesAreFixedPaddedOrLists) {
  EXPECT_THAT(Made(Feature("d", "bytes", {1, 1}, {194, 194})),
              HasSubstr("bytes { feature: \"d\" length: 194 } }"));
  EXPECT_THAT(Made(Feature("text", "bytes", {1, 1}, {3, 130})),
              HasSubstr("bytes { feature: \"text\" pad { length: 192 } "
                        "length_tensor: \"text_length\" } }"));
  EXPECT_THAT(
      Made(Feature("names", "bytes", {0, 3}, {2, 17})),
      HasSubstr("bytes { feature: \"names\" list { count: 4 count_tensor: "
                "\"names_count\" } pad { length: 32 } length_tensor: \"names_length\" } }"));
}

TEST(MadeSpecTest, WhatRecordsMayLackIsOptional) {
  FeatureInfo feature = Feature("x", "int64", {1, 1});
  feature.records = 31;
  EXPECT_THAT(Made(feature), HasSubstr("label { feature: \"x\" optional: true "
                                       "presence_tensor: \"x_present\" } }"));
}

TEST(MadeSpecTest, FeatureListsHaveItemsOfAShape) {
  EXPECT_THAT(Made({"frames", "float", true, 100, {3, 9}, {}, {4, 4}}),
              HasSubstr("number { feature_list: \"frames\" type: FLOAT shape: 4 pad { length: 16 } "
                        "length_tensor: \"frames_length\" } }"));
  EXPECT_THAT(Made({"frames", "float", true, 100, {3, 9}, {}, {1, 4}}),
              AllOf(HasSubstr("# Left out: its steps differ"), Not(HasSubstr("tensor {"))));
}

TEST(MadeSpecTest, NamesOfTensorsAreUniqueAndPlain) {
  const std::string text = MakeSpec({9,
                                     {{"some/text", "bytes", false, 9, {1, 1}, {100, 900}},
                                      {"some_text", "int64", false, 9, {1, 1}},
                                      {"qu\"ote\n", "int64", false, 9, {1, 1}}}},
                                    RecordFormat::kExample);
  EXPECT_THAT(
      text, AllOf(HasSubstr("name: \"some_text\" bytes"), HasSubstr("name: \"some_text_2\" label"),
                  HasSubstr("feature: \"qu\\\"ote\\n\"")));
}

TEST(MadeSpecTest, ImagesAreDecoded) {
  FeatureSummary summary = {9,
                            {{"image/encoded", "bytes", false, 9, {1, 1}, {100, 900}},
                             {"image/class/label", "int64", false, 9, {1, 1}}}};
  EXPECT_THAT(MakeSpec(summary, RecordFormat::kExample),
              AllOf(HasSubstr("tensor {\n  name: \"image\"\n  image {\n    feature: "
                              "\"image/encoded\" \n    resize_shorter { side: 256 }"),
                    HasSubstr("name: \"label\" label { feature: \"image/class/label\" }")));
}

TEST(MadeSpecTest, ImagesAreKnownByTheirValues) {
  FeatureSummary summary = {9, {{"jpg", "bytes", false, 9, {1, 1}, {100, 900}, {}, /*images=*/8}}};
  EXPECT_THAT(MakeSpec(summary, RecordFormat::kExample),
              AllOf(HasSubstr("tensor {\n  name: \"image\"\n  image {\n    feature: \"jpg\""),
                    Not(HasSubstr("images-train"))));
  summary.features.push_back(summary.features[0]);
  summary.features[1].name = "mask";
  EXPECT_THAT(MakeSpec(summary, RecordFormat::kExample),
              AllOf(HasSubstr("name: \"jpg\"\n  image {"), HasSubstr("name: \"mask\"\n  image {")));
  summary.features[0].images = 4;
  EXPECT_THAT(MakeSpec(summary, RecordFormat::kExample), HasSubstr("bytes { feature: \"jpg\" pad"));
}

FeatureInfo SampleImages(const std::string& name, uint64_t records) {
  return {name, "bytes", false, records, {1, 1}, {100, 900}, {}, records};
}

TEST(MadeSpecTest, ImagesOfAWebDatasetAreOneTensor) {
  const FeatureSummary summary = {100,
                                  {{"__key__", "bytes", false, 100, {1, 1}, {4, 4}},
                                   {"cls", "int64", false, 100, {1, 1}},
                                   SampleImages("jpg", 60),
                                   SampleImages("png", 40)}};
  EXPECT_EQ(MakeSpec(summary, RecordFormat::kExample),
            R"(# Made from the features of 100 records. Delete the tensors that you do not need.
# Values that are longer than `length` are an error; `truncate: true` cuts them.

# __key__: bytes, length 4
# Left out: it names the sample.

# cls: int64, values 1
tensor { name: "label" label { feature: "cls" } }

# jpg: bytes, length 100-900, in 60 of 100 records
# Decoded and cropped to the middle. --spec images-train takes random parts.
tensor {
  name: "image"
  image {
    feature: "jpg|png" 
    resize_shorter { side: 256 }
    center_crop { height: 224 width: 224 }
  }
}

# png: bytes, length 100-900, in 40 of 100 records
# Read as jpg|png.
)");
}

TEST(MadeSpecTest, FeaturesThatRecordsHaveTogetherAreNoAlternatives) {
  const FeatureSummary summary = {100, {SampleImages("jpg", 100), SampleImages("png", 100)}};
  EXPECT_THAT(
      MakeSpec(summary, RecordFormat::kExample),
      AllOf(HasSubstr("feature: \"jpg\""), HasSubstr("feature: \"png\""), Not(HasSubstr("|"))));
}

TEST(MadeSpecTest, SeveralImagesInARecordAreNoAlternatives) {
  FeatureSummary summary = {100, {SampleImages("jpg", 60), SampleImages("png", 40)}};
  summary.features[1].values = {1, 2};
  EXPECT_THAT(MakeSpec(summary, RecordFormat::kExample), Not(HasSubstr("|")));
}

TEST(MadeSpecTest, SaysWhyImagesStayEncoded) {
  FeatureInfo feature = Feature("image/encoded", "bytes", {1, 1}, {100, 900});
  feature.records = 99;
  EXPECT_THAT(Made(feature),
              AllOf(HasSubstr("# Its images stay encoded: an image operation needs one in every "
                              "record.\ntensor { name: \"image_encoded\" bytes {"),
                    HasSubstr("optional: true")));
  EXPECT_THAT(Made(Feature("image/encoded", "bytes", {1, 2}, {100, 900})),
              AllOf(HasSubstr("takes one in a record."), HasSubstr("list { count: 2")));
}

TEST(MadeSpecTest, LeavesOutWhatNoOperationTakes) {
  EXPECT_THAT(Made(Feature("x", "none", {0, 0})), HasSubstr("# Left out: it is always empty"));
  const FeatureInfo mixed = Feature("x", "int64", {1, 1});
  FeatureInfo other = mixed;
  other.type = "float";
  EXPECT_THAT(MakeSpec({100, {mixed, other}}, RecordFormat::kExample),
              HasSubstr("# Left out: records differ in its type"));
}

TEST(MadeSpecTest, HasNoMoreTensorsThanASpecMayHave) {
  FeatureSummary summary = {1, {}};
  for (int i = 0; i < 300; ++i) {
    summary.features.push_back({absl::StrCat("f", i), "int64", false, 1, {1, 2}});
  }
  EXPECT_THAT(MakeSpec(summary, RecordFormat::kExample), HasSubstr("at most 256 tensors"));
}

TEST(MadeSpecTest, RawRecordsAreBytes) {
  EXPECT_THAT(MakeSpec({5, {Feature("record", "bytes", {1, 1}, {20, 20})}}, RecordFormat::kRaw),
              HasSubstr("records: RAW\n"));
}

}  // namespace
}  // namespace penstock
