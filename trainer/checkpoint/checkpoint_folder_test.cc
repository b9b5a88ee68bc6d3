#include "trainer/checkpoint/checkpoint_folder.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/checkpoint/testing/checkpoint_fixture.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

using CheckpointFolderTest = CheckpointTest;

TEST_F(CheckpointFolderTest, FolderKeepsTheNewest) {
  ASSERT_OK_AND_ASSIGN(const CheckpointFolder folder,
                       CheckpointFolder::Open(folder_ + "/new/folder", 2));
  for (uint64_t step : {8, 9, 10}) {
    info_.step = step;
    ASSERT_OK(folder.Save(info_, table_, state_));
  }
  EXPECT_THAT(folder.List(), IsOkAndHolds(ElementsAre(EndsWith("step-000000009.ckpt"),
                                                      EndsWith("step-000000010.ckpt"))));
}

// The later files belong to an abandoned run; training continues from an earlier step.
TEST_F(CheckpointFolderTest, TheFileJustSavedStaysThoughOthersHaveLaterSteps) {
  ASSERT_OK_AND_ASSIGN(const CheckpointFolder folder, CheckpointFolder::Open(folder_, 2));
  for (uint64_t step : {8, 9, 5}) {
    info_.step = step;
    ASSERT_OK(folder.Save(info_, table_, state_));
  }
  EXPECT_THAT(folder.List(), IsOkAndHolds(ElementsAre(EndsWith("step-000000005.ckpt"),
                                                      EndsWith("step-000000008.ckpt"),
                                                      EndsWith("step-000000009.ckpt"))));
}

TEST_F(CheckpointFolderTest, FilesOfOtherNamesAreTheUsers) {
  ASSERT_OK_AND_ASSIGN(const CheckpointFolder folder, CheckpointFolder::Open(folder_, 1));
  const std::vector<std::string> others = {"/step-000000005-keep.ckpt", "/step-good.ckpt",
                                           "/step-7.ckpt", "/step-0000000007.ckpt",
                                           "/step-00000001 .ckpt"};
  for (const auto& name : others) std::ofstream(folder_ + name) << "a copy";
  for (const uint64_t step : {5ul, 1'000'000'000ul}) {
    info_.step = step;
    ASSERT_OK(folder.Save(info_, table_, state_));
  }
  EXPECT_THAT(folder.List(), IsOkAndHolds(ElementsAre(EndsWith("/step-1000000000.ckpt"))));
  for (const auto& name : others) EXPECT_TRUE(std::filesystem::exists(folder_ + name)) << name;
}

TEST_F(CheckpointFolderTest, ABestIsNeverAlone) {
  ASSERT_OK_AND_ASSIGN(const CheckpointFolder folder, CheckpointFolder::Open(folder_, 1));
  ASSERT_OK(folder.SaveBest(info_, table_, state_));
  EXPECT_THAT(folder.List(), IsOkAndHolds(ElementsAre(EndsWith("/step-000000041.ckpt"))));
}

TEST_F(CheckpointFolderTest, AFullDiskIsToldWithWhatIsWholeAndWhatToDo) {
  ASSERT_OK_AND_ASSIGN(const CheckpointFolder folder, CheckpointFolder::Open(folder_, 2));
  std::vector<std::string> said;
  for (const uint64_t step : {41, 42}) {
    info_.step = step;
    {
      const FullDisk full;
      said.emplace_back(folder.Save(info_, table_, state_).message());
      EXPECT_TRUE(absl::IsResourceExhausted(folder.SaveBest(info_, table_, state_)));
    }
    ASSERT_OK(folder.Save(info_, table_, state_));
  }
  EXPECT_THAT(said[0], AllOf(HasSubstr("no earlier checkpoint"), HasSubstr("free space")));
  EXPECT_THAT(said[1], AllOf(HasSubstr("step-000000041.ckpt is intact, and --resume auto"),
                             HasSubstr("ulimit -f")));
}

TEST_F(CheckpointFolderTest, AFolderThatNobodyMayWriteInIsRefused) {
  EXPECT_THAT(CheckpointFolder::Open("/proc", 1).status().message(), HasSubstr("/proc/"));
}

TEST_F(CheckpointFolderTest, AFolderThatAnotherTrainingHasIsRefused) {
  std::optional<CheckpointFolder> first = CheckpointFolder::Open(folder_, 1).value();
  EXPECT_THAT(CheckpointFolder::Open(folder_, 1),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(folder_), HasSubstr("another penstock-train"))));
  first.reset();
  EXPECT_OK(CheckpointFolder::Open(folder_, 1));
}

TEST_F(CheckpointFolderTest, WhatAKilledProcessLeftIsRemoved) {
  const std::vector<std::string> unfinished = {"/.step-000000007.ckpt.tmp-12-0",
                                               "/.best.ckpt.tmp-12-1"};
  const std::vector<std::string> others = {"/.step-000000007.ckpt", "/.notes.tmp-12-0",
                                           "/step-000000007.ckpt.tmp-12-0"};
  for (const auto& name : unfinished) std::ofstream(folder_ + name) << "half";
  for (const auto& name : others) std::ofstream(folder_ + name) << "whole";
  ASSERT_OK(CheckpointFolder::Open(folder_, 1).status());
  for (const auto& name : unfinished) EXPECT_FALSE(std::filesystem::exists(folder_ + name)) << name;
  for (const auto& name : others) EXPECT_TRUE(std::filesystem::exists(folder_ + name)) << name;
}

TEST_F(CheckpointFolderTest, TheBestStaysBesideTheNewest) {
  ASSERT_OK_AND_ASSIGN(const CheckpointFolder folder, CheckpointFolder::Open(folder_, 1));
  ASSERT_OK(folder.SaveBest(info_, table_, state_));
  for (uint64_t step : {42, 43}) {
    info_.step = step;
    ASSERT_OK(folder.Save(info_, table_, state_));
  }
  EXPECT_THAT(folder.List(), IsOkAndHolds(ElementsAre(EndsWith("step-000000043.ckpt"))));
  ASSERT_OK_AND_ASSIGN(const Checkpoint best, LoadCheckpoint(folder.best_path()));
  EXPECT_EQ(best.info.step, 41u);
}

TEST_F(CheckpointFolderTest, AFolderThatVanishedIsNamedWithTheCure) {
  const std::string path = folder_ + "/new";
  ASSERT_OK_AND_ASSIGN(const CheckpointFolder folder, CheckpointFolder::Open(path, 2));
  ASSERT_OK(folder.Save(info_, table_, state_));
  std::filesystem::remove_all(path);
  for (const absl::Status& status :
       {folder.Save(info_, table_, state_), folder.SaveBest(info_, table_, state_)}) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound, HasSubstr(path)));
  }
  EXPECT_THAT(std::string(folder.Save(info_, table_, state_).message()),
              AllOf(HasSubstr(path + " no longer exists"), HasSubstr("step 41 is not saved"),
                    HasSubstr("another --checkpoint-dir")));
}

// A folder in which even root may not write.
TEST_F(CheckpointFolderTest, AFolderThatCannotBeWrittenIsToldBeforeTheFirstStep) {
  if (!std::filesystem::is_directory("/sys/kernel")) GTEST_SKIP() << "there is no /sys";
  EXPECT_THAT(CheckpointFolder::Open("/sys/kernel", 2),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(HasSubstr("--checkpoint-dir: /sys/kernel"),
                             HasSubstr("the folder /sys/kernel is not writable"))));
}

TEST_F(CheckpointFolderTest, AFileIsNoFolder) {
  std::ofstream(folder_ + "/file") << "x";
  EXPECT_THAT(CheckpointFolder::Open(folder_ + "/file", 2).status(),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("--checkpoint-dir"), HasSubstr("/file: Not a directory"))));
}

// A run ended after an evaluation that the next run has yet to reach.
TEST_F(CheckpointFolderTest, ABetterBestStaysUntilItIsReached) {
  ASSERT_OK_AND_ASSIGN(const CheckpointFolder folder, CheckpointFolder::Open(folder_, 1));
  const auto save = [&](uint64_t step, double loss) {
    info_.step = step;
    info_.best = BestEvaluation{.step = step, .loss = loss};
    info_.judged_step = step;
    EXPECT_OK(folder.SaveBest(info_, table_, state_));
    return LoadCheckpoint(folder.best_path())->info.step;
  };
  EXPECT_EQ(save(35, 0.2), 35u);
  EXPECT_EQ(save(10, 0.3), 35u);
  EXPECT_EQ(folder.BetterThan(info_)->step, 35u);
  EXPECT_EQ(save(36, 0.2), 36u);
  EXPECT_EQ(folder.BetterThan(info_), std::nullopt);
  info_.targets = "others";  // Losses on other targets cannot be compared.
  EXPECT_EQ(save(40, 0.5), 40u);
}

}  // namespace
}  // namespace penstock
