#include "records/container/sample_keys.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(SampleKeysTest, TakesDistinctKeys) {
  SampleKeys keys;
  for (int i = 0; i < 10000; ++i) EXPECT_OK(keys.Add(absl::StrCat("a/", i)));
  EXPECT_OK(keys.Add(""));
}

TEST(SampleKeysTest, RefusesAKeyThatCameBefore) {
  SampleKeys keys;
  EXPECT_OK(keys.Add("a"));
  EXPECT_OK(keys.Add("b"));
  EXPECT_THAT(keys.Add("a"), StatusIs(absl::StatusCode::kDataLoss,
                                      AllOf(HasSubstr("the members of sample 'a' are not adjacent"),
                                            HasSubstr("tar --sort=name"))));
}

}  // namespace
}  // namespace penstock
