// Tests that `penstock which` names the records that `penstock stream --ids` reads.
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/testing/command_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "records/format/testing/shard_builder.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Words = std::vector<std::string>;

class WhichCommandTest : public CommandFixture {
 protected:
  WhichCommandTest() : CommandFixture({AddStreamCommand, AddIndexCommand, AddWhichCommand}) {
    for (int s = 0; s < 3; ++s) {
      ShardBuilder shard;
      for (int i = 0; i < 300; ++i) shard.Add(ChessExample(static_cast<uint64_t>(300 * s + i), i));
      data_.Write(absl::StrCat(s, ".tfrecord"), shard.text());
    }
  }

  static Words Joined(Words first, const Words& more) {
    first.insert(first.end(), more.begin(), more.end());
    return first;
  }
  // Returns "SHARD<TAB>NUMBER" of each row of `step`, as `which` prints them, with "<TAB>replaced".
  Words Which(uint64_t step, const Words& flags) {
    EXPECT_EQ(Run(Joined({"which", "--manifest", path_, "--step", absl::StrCat(step)}, flags)), 0)
        << error_;
    Words rows;
    for (absl::string_view line : absl::StrSplit(out_, '\n', absl::SkipEmpty())) {
      if (line.front() == '#') continue;
      const std::vector<absl::string_view> columns = absl::StrSplit(line, '\t');
      rows.push_back(absl::StrCat(columns[0], "\t", columns[1],
                                  columns.size() > 6 ? absl::StrCat("\t", columns[6]) : ""));
    }
    return rows;
  }
  // Returns the records of all steps before `steps` in the same form, as `stream` writes them.
  Words Stream(uint64_t steps, const Words& flags) {
    EXPECT_EQ(Run(Joined({"stream", path_, "--json", "-", "--epochs", "2", "--ids",
                          scratch_.File("ids"), "--steps", absl::StrCat(steps)},
                         flags)),
              0)
        << error_;
    return absl::StrSplit(scratch_.Read("ids"), '\n', absl::SkipEmpty());
  }
  void Damage(const std::string& shard, size_t at) {
    std::string bytes = data_.Read(shard);
    bytes[at] ^= 1;
    data_.Write(shard, bytes);
  }
  void ExpectTheSame(uint64_t steps, const Words& flags) {
    Words found;
    for (uint64_t step = 0; step < steps; ++step) found = Joined(found, Which(step, flags));
    const Words streamed = Stream(steps, flags);
    EXPECT_FALSE(streamed.empty());
    EXPECT_EQ(found, streamed) << absl::StrJoin(flags, " ");
  }

  TempFolder data_;
  TempFolder scratch_;
  std::string path_ = data_.path();
};

TEST_F(WhichCommandTest, NamesWhatStreamReads) {
  ExpectTheSame(5, {"--seed", "3", "--global-batch-size", "100"});
  ExpectTheSame(5, {"--seed", "4", "--global-batch-size", "250", "--remainder", "carry"});
  ExpectTheSame(4, {"--seed", "4", "--global-batch-size", "250", "--remainder", "short"});
  ExpectTheSame(3, {"--no-shuffle", "--global-batch-size", "64"});
  ExpectTheSame(3, {"--rank", "1", "--world-size", "3", "--global-batch-size", "100"});
}

TEST_F(WhichCommandTest, ReadsTheStepWhereTheManifestDoesNotTellTheSplit) {
  path_ = scratch_.File("manifest.pb");
  ASSERT_EQ(Run({"index", data_.path(), "--holdout", "30%", "--absolute", "-o", path_}), 0)
      << error_;
  const Words anywhere = {"--data-root", "/"};
  ExpectTheSame(
      3, Joined({"--split", "train", "--seed", "3", "--global-batch-size", "100"}, anywhere));
  ExpectTheSame(
      2, Joined({"--split", "holdout", "--seed", "3", "--global-batch-size", "50"}, anywhere));
}

// Damages records in the middle of a chunk, and a whole chunk. Other records of the same chunk
// replace the former, and another chunk of the window replaces the latter.
TEST_F(WhichCommandTest, MarksWhatStandsForADamagedRecord) {
  path_ = scratch_.File("manifest.pb");
  ASSERT_EQ(Run({"index", data_.path(), "--holdout", "30%", "--absolute", "-o", path_}), 0)
      << error_;
  Damage("0.tfrecord", 8);
  for (size_t at = 10'000; at < 50'000; at += 10'000) Damage("2.tfrecord", at);
  const Words flags = {"--split", "train",   "--on-error", "replace",     "--global-batch-size",
                       "100",     "--lanes", "4",          "--data-root", "/"};
  ExpectTheSame(5, flags);
  Words replaced;
  for (uint64_t step = 0; step < 5; ++step) {
    for (const std::string& row : Which(step, flags)) {
      if (absl::EndsWith(row, "\treplaced")) replaced.push_back(row);
    }
  }
  EXPECT_THAT(replaced, Contains(HasSubstr("2.tfrecord\t")));
  EXPECT_GT(replaced.size(), 2u);
}

// The data is removed before the second call.
TEST_F(WhichCommandTest, NeedsNothingButTheManifest) {
  path_ = scratch_.File("manifest.pb");
  ASSERT_EQ(Run({"index", data_.path(), "--absolute", "-o", path_}), 0) << error_;
  const Words rows = Which(2, {"--global-batch-size", "100"});
  std::filesystem::remove_all(data_.path());
  EXPECT_EQ(Which(2, {"--global-batch-size", "100"}), rows);
}

TEST_F(WhichCommandTest, PrintsJson) {
  const Words rows = Which(1, {"--global-batch-size", "100", "--rank", "1", "--world-size", "2"});
  ASSERT_EQ(Run({"which", path_, "--global-batch-size", "100", "--rank", "1", "--world-size", "2",
                 "--step", "1", "--json", "-"}),
            0);
  const nlohmann::json json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["split"], "train");
  EXPECT_EQ(json["global_batch_size"], 100);
  EXPECT_EQ(json["seed"], 0);
  EXPECT_EQ(json["step"], 1);
  EXPECT_EQ(json["position"], 100);
  ASSERT_EQ(json["rows"].size(), 50u);
  EXPECT_EQ(json["rows"][0]["row"], 50);
  EXPECT_EQ(json["rows"][0]["position"], 150);
  EXPECT_EQ(json["rows"][0]["replaced"], false);
  for (size_t i = 0; i < 50; ++i) {
    const nlohmann::json& row = json["rows"][i];
    EXPECT_EQ(absl::StrCat(std::string(row["shard"]), "\t", uint64_t{row["record"]}), rows[i]);
  }
  EXPECT_EQ(Which(0, {"--global-batch-size", "100", "--cursor", std::string(json["next_cursor"])}),
            Which(2, {"--global-batch-size", "100"}));
}

// The defaults are those of a training.
TEST_F(WhichCommandTest, SaysWhatItsStepsCountIn) {
  ASSERT_EQ(Run({"which", path_, "--step", "1"}), 0) << error_;
  EXPECT_THAT(out_, StartsWith("# split train, global batch 256, seed 0\n# step 1: "));
  ASSERT_EQ(Run({"which", path_, "--split", "all", "--global-batch-size", "512", "--seed", "7",
                 "--step", "1"}),
            0);
  EXPECT_THAT(out_, StartsWith("# split all, global batch 512, seed 7\n"));
}

TEST_F(WhichCommandTest, RefusesACursorOfAnotherSplit) {
  ASSERT_EQ(Run({"which", path_, "--split", "train", "--step", "0", "--json", "-"}), 0) << error_;
  const std::string cursor = nlohmann::json::parse(out_)["next_cursor"];
  EXPECT_EQ(Run({"which", path_, "--split", "all", "--step", "0", "--cursor", cursor}), 2);
  EXPECT_THAT(error_, HasSubstr("--cursor: the cursor " + cursor + " belongs to another order"));
  EXPECT_EQ(Run({"which", path_, "--split", "train", "--step", "0", "--cursor", cursor}), 0);
}

TEST_F(WhichCommandTest, WrongUseExitsWithTwo) {
  EXPECT_EQ(Run({"which", path_}), 2);
  EXPECT_EQ(Run({"which", path_, "--step", "9", "--epochs", "1", "--global-batch-size", "100"}), 2);
  EXPECT_THAT(error_, HasSubstr("--step 9: there are 9 steps"));
  EXPECT_EQ(Run({"which", path_, "--step", "-1"}), 2);
  EXPECT_EQ(Run({"which", path_, "--step", "1", "--steps", "2"}), 2);
  EXPECT_THAT(error_, HasSubstr("--steps"));
  EXPECT_THAT(out_, IsEmpty());
}

}  // namespace
}  // namespace penstock
