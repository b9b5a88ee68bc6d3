#include "trainer/app/classes.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using testing::HasSubstr;

CheckpointInfo OfThreeClasses(std::vector<std::string> names) {
  CheckpointInfo info;
  info.model.classes = 3;
  info.class_names = std::move(names);
  return info;
}

TEST(AutoClassesTest, ACheckpointKeepsItsClasses) {
  EXPECT_THAT(AutoClasses(10, 12), IsOkAndHolds(10u));
  EXPECT_THAT(AutoClasses(10, 0), IsOkAndHolds(10u));
  EXPECT_THAT(AutoClasses(0, 12), IsOkAndHolds(12u));
}

TEST(AutoClassesTest, WithoutNamesTheyMustBeGiven) {
  EXPECT_THAT(AutoClasses(0, 0),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("give --classes N")));
}

TEST(NameDifferenceTest, IsTheFirstOfTheNamesThatBothHave) {
  EXPECT_EQ(NameDifference({"ant", "bee", "cat"}, {"ant", "cat", "bee"}),
            "class 1 is \"bee\" in the checkpoint but \"cat\" in the manifest");
  EXPECT_EQ(NameDifference({"ant", "bee"}, {"ant"}), "");
  EXPECT_EQ(NameDifference({"ant"}, {"ant", "bee"}), "");
  EXPECT_EQ(NameDifference({}, {"ant"}), "");
}

TEST(UpdateClassNamesTest, TakesANameForEachClass) {
  CheckpointInfo info = OfThreeClasses({});
  UpdateClassNames({"a", "b", "c"}, info);
  EXPECT_THAT(info.class_names, testing::ElementsAre("a", "b", "c"));
}

TEST(UpdateClassNamesTest, KeepsThoseOfACheckpointWhereTheManifestHasOthersInNumber) {
  CheckpointInfo info = OfThreeClasses({"a", "b", "c"});
  UpdateClassNames({}, info);
  UpdateClassNames({"a", "b"}, info);
  UpdateClassNames({"a", "b", std::string(kMostNameBytes, 'c')}, info);
  EXPECT_THAT(info.class_names, testing::ElementsAre("a", "b", "c"));
}

TEST(UpdateClassNamesTest, TellsOfAClassThatIsCalledOtherwise) {
  CheckpointInfo info = OfThreeClasses({"cat", "dog", "fox"});
  testing::internal::CaptureStderr();
  UpdateClassNames({"cat", "cow", "dog"}, info);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("class 1 is \"dog\" in the checkpoint but \"cow\" in the manifest"));
  EXPECT_EQ(info.class_names[2], "dog");
  UpdateClassNames(info.class_names, info);
}

// A training that goes on from a checkpoint may have another number of classes.
TEST(UpdateClassNamesTest, DropsThoseOfAnotherNumberOfClasses) {
  for (const size_t then : {2, 4}) {
    CheckpointInfo info = OfThreeClasses(std::vector<std::string>(then, "old"));
    UpdateClassNames({}, info);
    EXPECT_THAT(info.class_names, testing::IsEmpty());
  }
}

TEST(UpdateClassNamesTest, BoardsHaveNone) {
  CheckpointInfo info;
  UpdateClassNames({"a"}, info);
  EXPECT_THAT(info.class_names, testing::IsEmpty());
}

}  // namespace
}  // namespace penstock
