#include "base/free_list.h"

#include <string>

#include "gtest/gtest.h"

namespace penstock {
namespace {

TEST(FreeListTest, MakesWhatIsMissing) {
  FreeList<std::string> list;
  auto first = list.Take();
  auto second = list.Take();
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_NE(first, second);
}

TEST(FreeListTest, GivesTheLastOneBackAsItWas) {
  FreeList<std::string> list;
  auto first = list.Take();
  auto second = list.Take();
  *first = "first";
  *second = "second";
  list.Return(std::move(first));
  list.Return(std::move(second));
  EXPECT_EQ(*list.Take(), "second");
  EXPECT_EQ(*list.Take(), "first");
  EXPECT_EQ(*list.Take(), "");
}

}  // namespace
}  // namespace penstock
