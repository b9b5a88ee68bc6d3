#include "records/container/webdataset.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/bytes_of.h"
#include "gtest/gtest.h"
#include "records/container/testing/cut_records.h"
#include "records/container/testing/tar_builder.h"
#include "records/format/testing/for_each_feature.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// "name=bytes" or "name:int" for each feature.
std::string Describe(std::span<const uint8_t> payload) {
  std::vector<std::string> features;
  const absl::Status status = ForEachFeature(payload, [&](const FeatureView& feature) {
    if (feature.type == FeatureType::kInt64) {
      features.push_back(absl::StrCat(feature.name, ":", absl::StrJoin(feature.ints, ",")));
    }
    for (std::span<const uint8_t> bytes : feature.bytes) {
      features.push_back(absl::StrCat(feature.name, "=", std::string(bytes.begin(), bytes.end())));
    }
  });
  return status.ok() ? absl::StrJoin(features, " ") : status.ToString();
}

CutRecords CutSamples(absl::string_view archive, Growth growth = Growth::kWhole) {
  const std::unique_ptr<RecordCutter> cutter = NewWebDatasetCutter();
  return CutAll(BytesOf(archive), *cutter, growth);
}

// Describes the samples of a whole archive. They must not depend on how its bytes arrive.
absl::StatusOr<std::vector<std::string>> Samples(const TarBuilder& archive) {
  const CutRecords whole = CutSamples(archive.bytes());
  for (Growth growth : {Growth::kAsNeeded, Growth::kByByte}) {
    EXPECT_EQ(CutSamples(archive.bytes(), growth), whole);
  }
  if (!whole.status.ok()) return whole.status;
  std::vector<std::string> samples;
  for (const std::vector<uint8_t>& payload : whole.payloads) samples.push_back(Describe(payload));
  return samples;
}

auto DataLoss(absl::string_view message) {
  return StatusIs(absl::StatusCode::kDataLoss, HasSubstr(std::string(message)));
}

TEST(WebDatasetTest, AdjacentMembersOfAKeyAreASample) {
  TarBuilder archive;
  archive.File("a.jpg", "A").File("a.txt", "x").File("b.jpg", "B").File("c.jpg", "C");
  EXPECT_THAT(
      Samples(archive.End()),
      IsOkAndHolds(ElementsAre("__key__=a jpg=A txt=x", "__key__=b jpg=B", "__key__=c jpg=C")));
}

TEST(WebDatasetTest, AnArchiveMayHoldNoSample) {
  EXPECT_THAT(Samples(TarBuilder()), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(Samples(TarBuilder().End()), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(Samples(TarBuilder().File("README", "x").End()), IsOkAndHolds(IsEmpty()));
}

TEST(WebDatasetTest, FeaturesAreOrderedByName) {
  TarBuilder one, other;
  one.File("a.cls", "1").File("a.jpg", "x").File("a.seg.png", "y");
  other.File("a.seg.png", "y").File("a.jpg", "x").File("a.cls", "1");
  EXPECT_THAT(Samples(one), IsOkAndHolds(ElementsAre("__key__=a cls:1 jpg=x seg.png=y")));
  EXPECT_EQ(CutSamples(one.bytes()), CutSamples(other.bytes()));
}

TEST(WebDatasetTest, ExtensionsAreLowerCaseAndKeysAreNot) {
  EXPECT_THAT(Samples(TarBuilder().File("A/B.JPG", "x").File("a/B.Jpg", "y")),
              IsOkAndHolds(ElementsAre("__key__=A/B jpg=x", "__key__=a/B jpg=y")));
}

TEST(WebDatasetTest, NumbersAreInt64) {
  for (const char* extension :
       {"cls", "cls2", "class", "count", "index", "inx", "id", "head.CLS"}) {
    const std::string name = absl::AsciiStrToLower(extension);
    EXPECT_THAT(Samples(TarBuilder().File(absl::StrCat("a.", extension), "42\n")),
                IsOkAndHolds(ElementsAre(absl::StrCat("__key__=a ", name, ":42"))));
  }
  EXPECT_THAT(Samples(TarBuilder().File("a.cls", " \t-7 \r\n").File("a.id", "+3")),
              IsOkAndHolds(ElementsAre("__key__=a cls:-7 id:3")));
  EXPECT_THAT(Samples(TarBuilder().File("a.id", "-9223372036854775808")),
              IsOkAndHolds(ElementsAre("__key__=a id:-9223372036854775808")));
}

TEST(WebDatasetTest, OtherTextIsBytes) {
  for (const char* text : {"", " ", "cat", "1.5", "1 2", "0x1f", "1_000", "9223372036854775808"}) {
    EXPECT_THAT(Samples(TarBuilder().File("a.cls", text)),
                IsOkAndHolds(ElementsAre(absl::StrCat("__key__=a cls=", text))));
  }
  EXPECT_THAT(Samples(TarBuilder().File("a.txt", "1").File("a.cls.txt", "2")),
              IsOkAndHolds(ElementsAre("__key__=a cls.txt=2 txt=1")));
}

TEST(WebDatasetTest, MembersOfNoSampleDoNotCutOneApart) {
  TarBuilder archive;
  archive.File("__index__/a.jpg", "x").File("d/._a.jpg", "x").File("d/a.jpg", "A");
  archive.Member(TarHeaderBlock("d/", 0, '5')).File("d/._a.cls", "x").File("d/a.cls", "1");
  archive.File("d/README", "x").File("d/b.jpg", "B").File("d/.DS_Store", "x");
  EXPECT_THAT(Samples(archive),
              IsOkAndHolds(ElementsAre("__key__=d/a cls:1 jpg=A", "__key__=d/b jpg=B")));
}

TEST(WebDatasetTest, ARecordEndsWithItsLastMember) {
  TarBuilder archive;
  archive.File("a.jpg", "A")
      .File("a.txt", "x")
      .File("README", "r")
      .LongName("b.jpg")
      .File("b", "B");
  EXPECT_THAT(CutSamples(archive.End().bytes()).ends, ElementsAre(4 * 512, 10 * 512));
}

TEST(WebDatasetTest, APartOfAShardGivesTheSameRecords) {
  TarBuilder archive;
  archive.File("a.jpg", "A").LongName("b.jpg").File("b", "B").File("b.cls", "1").File("c.x", "C");
  const CutRecords all = CutSamples(archive.End().bytes());
  ASSERT_EQ(all.payloads.size(), 3u);
  uint64_t begin = 0;
  for (size_t i = 0; i < all.ends.size(); begin = all.ends[i++]) {
    const CutRecords part =
        CutSamples(absl::string_view(archive.bytes()).substr(begin, all.ends[i] - begin));
    EXPECT_OK(part.status);
    EXPECT_THAT(part.payloads, ElementsAre(all.payloads[i]));
  }
}

TEST(WebDatasetTest, ACutterTakesAnotherShardAfterTheEndOrAnError) {
  const std::unique_ptr<RecordCutter> cutter = NewWebDatasetCutter();
  const std::string archive = TarBuilder().File("a.jpg", "A").File("b.jpg", "B").bytes();
  const CutRecords whole = CutAll(BytesOf(archive), *cutter, Growth::kWhole);
  EXPECT_FALSE(CutAll(BytesOf(archive).first(1100), *cutter, Growth::kWhole).status.ok());
  EXPECT_EQ(CutAll(BytesOf(archive), *cutter, Growth::kWhole), whole);
}

TEST(WebDatasetTest, RefusesTwoMembersOfOneExtension) {
  TarBuilder archive;
  archive.File("a.jpg", "x").File("a.txt", "y").File("a.JPG", "z").File("b.jpg", "x");
  EXPECT_THAT(
      Samples(archive),
      DataLoss("byte 2048: member 'a.jpg' appears twice in its sample; the first is at byte 0"));
}

TEST(WebDatasetTest, RefusesAMemberWithTheNameOfTheKey) {
  EXPECT_THAT(Samples(TarBuilder().File("a.jpg", "x").File("a.__key__", "y")),
              DataLoss("byte 1024: member 'a.__key__' would become the feature __key__"));
}

TEST(WebDatasetTest, RefusesLinksWithinASample) {
  EXPECT_THAT(Samples(TarBuilder().File("a.jpg", "x").Member(TarHeaderBlock("a.txt", 0, '2'))),
              DataLoss("byte 1024: member 'a.txt' is a symbolic link"));
}

TEST(WebDatasetTest, PassesOnThatAHeaderIsTooLong) {
  EXPECT_THAT(Samples(TarBuilder().File("a.jpg", "x").Member(TarHeaderBlock("p", 1 << 21, 'x'))),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("byte 1024")));
}

TEST(WebDatasetTest, TellsOfKeysAndReturnsTheirError) {
  SampleKeys keys;
  const std::unique_ptr<RecordCutter> cutter = NewWebDatasetCutter(&keys);
  const std::string archive =
      TarBuilder().File("a.jpg", "A").File("b.jpg", "B").File("a.cls", "1").bytes();
  const CutRecords all = CutAll(BytesOf(archive), *cutter, Growth::kAsNeeded);
  EXPECT_EQ(all.payloads.size(), 2u);
  EXPECT_THAT(all.status, DataLoss("the members of sample 'a' are not adjacent"));
}

TEST(WebDatasetTest, ReportsACutAtEveryByte) {
  TarBuilder archive;
  archive.File("a.jpg", "alpha").LongName("b.jpg").File("b", "beta").File("b.cls", "1");
  // Archives cut to a size in these ranges are complete: the cut lies between two members.
  const std::pair<size_t, size_t> whole[] = {
      {0, 0}, {512 + 5, 1024}, {2560 + 4, 3072}, {3584 + 1, 4096}};
  for (size_t size = 0; size <= archive.bytes().size(); ++size) {
    const absl::string_view cut = absl::string_view(archive.bytes()).substr(0, size);
    const CutRecords all = CutSamples(cut);
    EXPECT_EQ(CutSamples(cut, Growth::kAsNeeded), all) << size;
    const bool is_whole = std::ranges::any_of(
        whole, [&](const auto& range) { return range.first <= size && size <= range.second; });
    if (is_whole) {
      EXPECT_OK(all.status) << size;
    } else {
      EXPECT_THAT(all.status, DataLoss("truncated: ")) << size;
    }
  }
}

}  // namespace
}  // namespace penstock
