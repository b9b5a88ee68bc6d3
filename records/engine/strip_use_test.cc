#include "records/engine/strip_use.h"

#include "gtest/gtest.h"

namespace penstock {
namespace {

void Drop(StripUse& use, int blocks, double times) {
  for (int i = 0; i < blocks; ++i) use.Dropped(times);
}

TEST(StripUseTest, KnowsNothingAtFirst) {
  const StripUse use;
  EXPECT_TRUE(use.pays());
  EXPECT_FALSE(use.Suffices(1000));
}

TEST(StripUseTest, ExpectsWhatTheMostUsedOfTheLastBlocksHad) {
  StripUse use;
  Drop(use, 63, 2);
  Drop(use, 1, 8);
  EXPECT_FALSE(use.Suffices(7));
  EXPECT_TRUE(use.Suffices(8));
  Drop(use, 64, 3);  // Some jobs have left.
  EXPECT_TRUE(use.Suffices(3));
}

TEST(StripUseTest, SharingPaysWhereBlocksAreSentOftenOnAverage) {
  StripUse use;
  Drop(use, 60, 1);
  Drop(use, 4, 8);
  EXPECT_FALSE(use.pays());
  Drop(use, 63, 2);
  EXPECT_FALSE(use.pays());
  Drop(use, 1, 2);
  EXPECT_TRUE(use.pays());
}

}  // namespace
}  // namespace penstock
