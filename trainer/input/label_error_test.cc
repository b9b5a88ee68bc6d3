#include "trainer/input/label_error.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

LabelFacts Facts(ClassesFrom from, size_t named = 0, int64_t added = 0) {
  return {.classes = 4, .from = from, .named = named, .added = added, .spec = "images-train:72"};
}

TEST(DescribeBadLabelTest, SaysWhereTheNumberOfClassesIsFrom) {
  EXPECT_THAT(DescribeBadLabel(9, Facts(ClassesFrom::kOption)),
              HasSubstr("label is 9, but 4 classes (from --classes) have labels 0 to 3: "));
  EXPECT_THAT(DescribeBadLabel(9, Facts(ClassesFrom::kManifest, 4)),
              HasSubstr("4 classes (from the manifest)"));
  EXPECT_THAT(DescribeBadLabel(9, Facts(ClassesFrom::kCheckpoint)),
              HasSubstr("4 classes (from the checkpoint)"));
}

TEST(DescribeBadLabelTest, TheFirstNumberAboveMayCountFrom1OrBeAClassMore) {
  EXPECT_THAT(DescribeBadLabel(4, Facts(ClassesFrom::kOption)),
              HasSubstr("if the labels start at 1, give --spec images-train:72,label-1 (`add: -1` "
                        "of the label in your own spec); otherwise give --classes 5 or more"));
  EXPECT_THAT(
      DescribeBadLabel(4, Facts(ClassesFrom::kManifest, 4)),
      AllOf(HasSubstr("if the labels start at 1"),
            EndsWith("otherwise name all classes in classes.txt beside the shards and index "
                     "again, or give --classes 5 or more")));
  EXPECT_THAT(DescribeBadLabel(5, Facts(ClassesFrom::kOption)),
              AllOf(Not(HasSubstr("start at 1")), EndsWith(": give --classes 6 or more")));
  EXPECT_THAT(DescribeBadLabel(4, Facts(ClassesFrom::kOption, 0, -1)),
              AllOf(Not(HasSubstr("start at 1")), HasSubstr("label is 4 (5 in the record)")));
}

TEST(DescribeBadLabelTest, ACheckpointsClassesCannotBeGiven) {
  EXPECT_THAT(
      DescribeBadLabel(4, Facts(ClassesFrom::kCheckpoint, 10)),
      AllOf(EndsWith("otherwise the manifest names 10 classes, so the checkpoint was trained on "
                     "other data"),
            Not(HasSubstr("--classes"))));
  EXPECT_THAT(DescribeBadLabel(7, Facts(ClassesFrom::kCheckpoint, 3)),
              EndsWith(": the checkpoint's model was trained without this class"));
}

TEST(DescribeBadLabelTest, WhatASpecSubtractsIsNotToBeSubtractedFrom0) {
  EXPECT_THAT(DescribeBadLabel(-1, Facts(ClassesFrom::kOption, 0, -1)),
              AllOf(HasSubstr("label is -1 (0 in the record)"),
                    HasSubstr("remove label-1 from --spec (`add: -1` in your own spec)")));
  for (const int64_t added : {-1, 0}) {
    EXPECT_THAT(DescribeBadLabel(-1 + added, Facts(ClassesFrom::kOption, 0, added)),
                AllOf(EndsWith("leave such records out, or number the labels from 0"),
                      Not(HasSubstr("--spec"))));
  }
}

}  // namespace
}  // namespace penstock
