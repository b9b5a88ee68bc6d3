#include "records/format/example.h"

#include <cstdlib>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "base/io/file_source.h"
#include "gtest/gtest.h"
#include "records/format/example_writer.h"
#include "records/format/testing/for_each_feature.h"
#include "records/format/testing/shard_builder.h"
#include "records/format/testing/wire_writer.h"
#include "records/format/tfrecord_reader.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// "name:type[values]" for each feature.
absl::StatusOr<std::vector<std::string>> Describe(const std::string& payload) {
  std::vector<std::string> out;
  absl::Status status = ForEachFeature(BytesOf(payload), [&](const FeatureView& feature) {
    std::string text = absl::StrCat(feature.name, ":", FeatureTypeName(feature.type));
    for (auto bytes : feature.bytes) {
      absl::StrAppend(&text, " ", std::string(bytes.begin(), bytes.end()));
    }
    for (float value : feature.floats) absl::StrAppend(&text, " ", value);
    for (int64_t value : feature.ints) absl::StrAppend(&text, " ", value);
    out.push_back(text);
  });
  if (!status.ok()) return status;
  return out;
}

TEST(ExampleTest, ReadsWhatTheBuilderWrites) {
  ExampleBuilder builder;
  const int64_t ints[] = {1, -1, 300};
  builder.AddBytes("a", BytesOf("xyz"));
  builder.AddInt64("b", ints);
  builder.AddInt64("none", {});
  const float floats[] = {0.5f, -2};
  builder.AddFloat("f", floats);
  builder.AddFloat("no floats", {});
  const absl::string_view texts[] = {"one", "", "three"};
  builder.AddBytesList("texts", texts);
  std::span<const uint8_t> bytes = builder.Serialize();
  EXPECT_THAT(
      Describe(std::string(bytes.begin(), bytes.end())),
      IsOkAndHolds(ElementsAre("a:bytes xyz", "b:int64 1 -1 300", "none:int64", "f:float 0.5 -2",
                               "no floats:float", "texts:bytes one  three")));
}

TEST(ExampleTest, ReadsPackedFloats) {
  const std::string floats = Field(2, Field(1, Fixed32(0.5f) + Fixed32(-2)));
  EXPECT_THAT(Describe(Example(Entry("f", floats))), IsOkAndHolds(ElementsAre("f:float 0.5 -2")));
}

TEST(ExampleTest, NothingIsAnExampleWithoutFeatures) {
  EXPECT_THAT(Describe(""), IsOkAndHolds(ElementsAre()));
}

TEST(ExampleTest, ReadsUnpackedLists) {
  std::string ints = Field(3, VarintField(1, 7) + Field(1, Varint(8) + Varint(9)));
  std::string floats = Field(2, FloatField(1, 1.5f) + FloatField(1, 2.5f));
  EXPECT_THAT(Describe(Example(Entry("i", ints) + Entry("f", floats))),
              IsOkAndHolds(ElementsAre("i:int64 7 8 9", "f:float 1.5 2.5")));
}

TEST(ExampleTest, TheLastEntryOfANameCounts) {
  EXPECT_THAT(Describe(Example(Entry("s", Int64Kind(1)) + Entry("t", Int64Kind(5)) +
                               Entry("s", Int64Kind(2)))),
              IsOkAndHolds(ElementsAre("s:int64 2", "t:int64 5")));
}

TEST(ExampleTest, TheLastKindOfAFeatureCountsAndTheSameKindAdds) {
  EXPECT_THAT(Describe(Example(Entry("s", Int64Kind(1) + BytesKind("x") + Int64Kind(2)))),
              IsOkAndHolds(ElementsAre("s:int64 2")));
  EXPECT_THAT(Describe(Example(Entry("s", Int64Kind(1) + Int64Kind(2)))),
              IsOkAndHolds(ElementsAre("s:int64 1 2")));
}

TEST(ExampleTest, SkipsUnknownFieldsOfEveryType) {
  std::string group = Varint(9 << 3 | 3) + VarintField(1, 5) + Varint(9 << 3 | 4);
  std::string unknown = Field(7, "junk") + VarintField(8, 1u << 20) + FloatField(6, 1) + group;
  std::string kinds = unknown + Field(3, unknown + VarintField(1, 4)) + unknown;
  std::string entry =
      Field(1, unknown + Field(1, "s") + unknown + Field(2, kinds) + unknown) + unknown;
  EXPECT_THAT(Describe(unknown + Example(unknown + entry) + unknown),
              IsOkAndHolds(ElementsAre("s:int64 4")));
}

// Without a limit, 2 million groups nested in each other would overflow the stack.
TEST(ExampleTest, GroupsMayBeNestedSixtyFourTimes) {
  const auto nested = [](size_t depth) {
    std::string groups;
    for (size_t i = 0; i < depth; ++i) groups += Varint(9 << 3 | 3);
    for (size_t i = 0; i < depth; ++i) groups += Varint(9 << 3 | 4);
    return groups + Example(Entry("s", Int64Kind(1)));
  };
  EXPECT_THAT(Describe(nested(64)), IsOkAndHolds(ElementsAre("s:int64 1")));
  for (const size_t depth : {size_t{65}, size_t{2'000'000}}) {
    EXPECT_THAT(Describe(nested(depth)), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("broken")))
        << depth;
  }
}

TEST(ExampleTest, ReportsEveryCutWithItsByte) {
  const std::string payload = ChessExample(1, -300);
  for (size_t size = 1; size < payload.size(); ++size) {
    EXPECT_THAT(Describe(payload.substr(0, size)),
                StatusIs(absl::StatusCode::kDataLoss,
                         HasSubstr(absl::StrCat("broken at byte 0 of ", size))));
  }
}

TEST(ExampleTest, ReportsLengthsNearTwoTo64) {
  std::string huge = Varint(1 << 3 | 2) + Varint(~uint64_t{0}) + "xx";
  EXPECT_FALSE(Describe(huge).ok());
  EXPECT_FALSE(Describe(Example(huge)).ok());
  EXPECT_FALSE(Describe(Example(Field(1, huge))).ok());
}

TEST(ExampleTest, ReportsMalformedFields) {
  for (std::string broken : {Varint(0), Varint(1 << 3 | 6), Varint(1 << 3 | 4), std::string("\x0b"),
                             std::string(11, '\xff'), Field(1, std::string("\x80"))}) {
    EXPECT_THAT(Describe(Example(Entry("s", Field(3, broken)))),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no tf.train.Example")));
  }
  EXPECT_FALSE(Describe(Example(Entry("f", Field(2, Field(1, "abc"))))).ok());
}

TEST(ExampleTest, ReadsTensorFlowsOwnExamples) {
  const char* data = std::getenv("PENSTOCK_TEST_DATA");
  if (data == nullptr) GTEST_SKIP() << "PENSTOCK_TEST_DATA is not set";
  ASSERT_OK_AND_ASSIGN(auto source, FileSource::Open(absl::StrCat(
                                        data, "/data/tfrecord/toy.tfe-tfrecord-00000-of-00002")));
  TfRecordReader reader(*source);
  Record record;
  ASSERT_THAT(reader.Next(record), IsOkAndHolds(true));
  std::map<std::string, std::string> features;
  ASSERT_OK_AND_ASSIGN(auto described,
                       Describe(std::string(record.payload.begin(), record.payload.end())));
  for (const std::string& text : described) features[text.substr(0, text.find(':'))] = text;
  EXPECT_EQ(features["Num_1"], "Num_1:float 1");
  EXPECT_EQ(features["Cat_1"], "Cat_1:bytes A");
}

}  // namespace
}  // namespace penstock
