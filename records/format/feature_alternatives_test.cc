// Tests names with bars, which stand for whichever of several features a record has.
#include <optional>
#include <string>
#include <vector>

#include "base/bytes_of.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/format/feature_finder.h"
#include "records/format/testing/same_features.h"
#include "records/format/testing/wire_writer.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(AlternativesTest, AreTheNamesBetweenBars) {
  EXPECT_THAT(AlternativesOf("jpg|jpeg|png"), ElementsAre("jpg", "jpeg", "png"));
  EXPECT_THAT(AlternativesOf("|a||b|a|"), ElementsAre("a", "b"));
  for (const char* name : {"", "jpg", "|"}) EXPECT_THAT(AlternativesOf(name), IsEmpty());
}

TEST(AlternativesTest, ANameStandsForItselfAndThem) {
  EXPECT_TRUE(StandsFor("jpg", "jpg"));
  EXPECT_TRUE(StandsFor("jpg|png", "png"));
  EXPECT_TRUE(StandsFor("jpg|png", "jpg|png"));
  EXPECT_FALSE(StandsFor("jpg|png", "jp"));
  EXPECT_FALSE(StandsFor("jpg", "jpg|png"));
}

std::string OneRecord(const std::vector<std::string>& entries) {
  std::string all;
  for (const std::string& entry : entries) all += entry;
  return Example(all);
}

std::string Text(const std::string& name, const std::string& value) {
  return Entry(name, BytesKind(value));
}

class FeatureAlternativesTest : public ::testing::Test {
 protected:
  void Want(std::vector<FeatureUse> specs) {
    finder_.emplace(*FeatureFinder::Create(std::move(specs)));
    found_ = finder_->MakeFound();
    std::vector<size_t> slots;
    for (size_t i = 0; i < finder_->specs().size(); ++i) slots.push_back(finder_->slot(i));
    plain_ = PlainFinder(finder_->specs(), slots);
  }

  // Finds with a finder that has seen other records, a fresh one and a plain one, which must agree.
  // found_ points into the payload, which is kept until the next call.
  absl::Status Find(std::string payload) {
    payload_ = std::move(payload);
    FeatureFinder fresh = *FeatureFinder::Create(finder_->specs());
    FoundFeatures by_fresh = fresh.MakeFound(), by_plain = fresh.MakeFound();
    const absl::Status status = finder_->Find(BytesOf(payload_), found_);
    EXPECT_EQ(fresh.Find(BytesOf(payload_), by_fresh), status);
    EXPECT_TRUE(!status.ok() || SameFeatures(found_, by_fresh));
    was_plain_ = plain_.Find(BytesOf(payload_), by_plain);
    EXPECT_TRUE(!was_plain_ || (status.ok() && SameFeatures(by_plain, found_)));
    return status;
  }

  std::string FoundText(size_t slot = 0) const {
    return {found_.bytes[slot].begin(), found_.bytes[slot].end()};
  }

  std::optional<FeatureFinder> finder_;
  PlainFinder plain_;
  FoundFeatures found_;
  std::string payload_;
  bool was_plain_ = false;
};

TEST_F(FeatureAlternativesTest, TheOneThatARecordHasIsFound) {
  Want({{"jpg|jpeg|png", FeatureType::kBytes, 0}, {"cls|class", FeatureType::kInt64, 1}});
  for (int round = 0; round < 3; ++round) {
    for (const std::string name : {"jpg", "jpeg", "png", "jpg|jpeg|png"}) {
      for (const std::string label : {"cls", "class"}) {
        const std::string entry = Entry(label, Int64Kind(round));
        ASSERT_OK(Find(OneRecord({Text("__key__", "k"), Text(name, "i" + name), entry})));
        EXPECT_TRUE(was_plain_);
        EXPECT_EQ(FoundText(), "i" + name);
        EXPECT_EQ(found_.ints[0], round);
      }
    }
  }
}

TEST_F(FeatureAlternativesTest, AFeatureOfTheVeryNameGoesFirst) {
  Want({{"a|b", FeatureType::kBytes, 0}});
  const std::string own = Text("a|b", "own"), a = Text("a", "A"), b = Text("b", "B");
  for (const std::string& record :
       {OneRecord({own, a, b}), OneRecord({a, b, own}), OneRecord({a, own, b}), OneRecord({own}),
        OneRecord({own, a})}) {
    ASSERT_OK(Find(record));
    EXPECT_EQ(FoundText(), "own");
  }
}

TEST_F(FeatureAlternativesTest, TwoOfThemAreAnError) {
  Want({{"jpg|png", FeatureType::kBytes, 0}});
  const std::string jpg = Text("jpg", "J"), png = Text("png", "P");
  EXPECT_THAT(Find(OneRecord({jpg, png})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the record has both 'jpg' and 'png', but feature 'jpg|png' may "
                                 "match only one: name the one to read")));
  EXPECT_THAT(Find(OneRecord({png, jpg})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'png' and 'jpg'")));
  ASSERT_OK(Find(OneRecord({jpg, jpg})));  // An entry that is written twice is one feature.
  ASSERT_OK(Find(OneRecord({jpg})));
}

TEST_F(FeatureAlternativesTest, NoneOfThemIsAMissingFeature) {
  Want({{"jpg|png", FeatureType::kBytes, 0}});
  EXPECT_THAT(Find(OneRecord({Text("gif", "G")})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("feature 'jpg|png' is missing or empty; the record has gif")));
  Want({{"jpg|png", FeatureType::kBytes, 0, VariableUse{.optional = true}}});
  ASSERT_OK(Find(OneRecord({Text("gif", "G")})));
  EXPECT_FALSE(found_.variable[0].present);
  ASSERT_OK(Find(OneRecord({Text("png", "P")})));
  EXPECT_TRUE(found_.variable[0].present);
}

TEST_F(FeatureAlternativesTest, OtherSpecsMayNameThemToo) {
  Want({{"a|b", FeatureType::kBytes, 0},
        {"b", FeatureType::kBytes, 0},
        {"b|a", FeatureType::kNone, 0, VariableUse{.list = true}}});
  ASSERT_OK(Find(OneRecord({Text("b", "B")})));
  EXPECT_EQ(FoundText(0), "B");
  EXPECT_EQ(FoundText(1), "B");
  EXPECT_EQ(found_.variable[0].count, 1u);
  EXPECT_THAT(Find(OneRecord({Text("a", "A")})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("feature 'b' is missing")));
}

TEST_F(FeatureAlternativesTest, FeatureListsHaveAlternativesOfTheirOwn) {
  Want({{"p|q", FeatureType::kInt64, 0, VariableUse{.sequence = true}}});
  ASSERT_OK(Find(SequenceExample(Entry("p", Int64Kind(1)), ListEntry("q", {Int64Kind(2)}))));
  EXPECT_EQ(found_.variable[0].count, 1u);
}

TEST_F(FeatureAlternativesTest, TheOneFoundHasItsTypeAndLength) {
  Want({{"jpg|png", FeatureType::kBytes, 3}});
  EXPECT_THAT(Find(OneRecord({Text("png", "four")})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("feature 'jpg|png' has 4 bytes, but the spec expects 3")));
  EXPECT_THAT(Find(OneRecord({Entry("png", Int64Kind(1))})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("feature 'jpg|png'")));
}

// All payloads have the same size. Only names, tags and lengths differ.
TEST_F(FeatureAlternativesTest, ADifferentBitIsFoundAsAFreshFinderFindsIt) {
  Want({{"jpg|png", FeatureType::kBytes, 0}, {"cls", FeatureType::kInt64, 1}});
  const std::string good =
      OneRecord({Text("jpg", "JJJ"), Text("txt", "T"), Entry("cls", Int64Kind(7))});
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string flipped = good;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    ASSERT_OK(Find(good));
    Find(flipped).IgnoreError();
  }
  for (size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(Find(good.substr(0, size)).ok());
}

}  // namespace
}  // namespace penstock
