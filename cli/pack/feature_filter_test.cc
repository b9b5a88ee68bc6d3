#include "cli/pack/feature_filter.h"

#include <string>
#include <vector>

#include "base/bytes_of.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/format/testing/wire_writer.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<bool> Lacks(const std::string& payload, const std::vector<std::string>& names) {
  return FeatureFilter(names).Lacks(BytesOf(payload));
}

TEST(FeatureFilterTest, ARecordMustHaveEachFeature) {
  const std::string record = Example(Entry("a", Int64Kind(7)) + Entry("b", Int64Kind(7)));
  EXPECT_THAT(Lacks(record, {}), IsOkAndHolds(false));
  EXPECT_THAT(Lacks(record, {"a"}), IsOkAndHolds(false));
  EXPECT_THAT(Lacks(record, {"b", "a"}), IsOkAndHolds(false));
  EXPECT_THAT(Lacks(record, {"a", "c"}), IsOkAndHolds(true));
}

TEST(FeatureFilterTest, AFeatureOfNoKindIsMissingAndAnEmptyListIsNot) {
  EXPECT_THAT(Lacks(Example(Entry("a", "")), {"a"}), IsOkAndHolds(true));
  EXPECT_THAT(Lacks(Example(Entry("a", Field(3, ""))), {"a"}), IsOkAndHolds(false));
}

TEST(FeatureFilterTest, TheLastEntryOfANameCounts) {
  EXPECT_THAT(Lacks(Example(Entry("a", Int64Kind(7)) + Entry("a", "")), {"a"}), IsOkAndHolds(true));
  EXPECT_THAT(Lacks(Example(Entry("a", "") + Entry("a", Int64Kind(7))), {"a"}),
              IsOkAndHolds(false));
}

TEST(FeatureFilterTest, AFeatureListCounts) {
  const std::string record =
      SequenceExample(Entry("id", Int64Kind(1)), ListEntry("steps", {Int64Kind(7)}));
  EXPECT_THAT(Lacks(record, {"steps", "id"}), IsOkAndHolds(false));
  EXPECT_THAT(Lacks(record, {"a"}), IsOkAndHolds(true));
}

TEST(FeatureFilterTest, RefusesWhatIsNoExample) {
  EXPECT_THAT(Lacks("no example", {"a"}), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("")));
  EXPECT_THAT(Lacks("no example", {}), IsOkAndHolds(false));
}

}  // namespace
}  // namespace penstock
