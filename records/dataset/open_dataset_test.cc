#include "records/dataset/open_dataset.h"

#include <chrono>
#include <filesystem>
#include <future>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "records/format/testing/shard_builder.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class OpenDatasetTest : public ::testing::Test {
 protected:
  std::string WriteShard(int number, int records = 100) {
    ShardBuilder shard;
    for (int i = 0; i < records; ++i) {
      shard.Add(ChessExample(static_cast<uint64_t>(number * 1000 + i), i - 50));
    }
    return folder_.Write(absl::StrCat("s", number, ".tfrecord"), shard.text());
  }
  // Makes a manifest of these shards, which are given by name.
  void IndexByName(const std::vector<std::string>& files, bool absolute = false) {
    IndexOptions options;
    options.output = folder_.File("manifest.pb");
    options.absolute = absolute;
    ASSERT_OK(BuildIndex(files, options));
  }
  void ExpectDoesNotFit(const std::string& why) {
    const std::string before = folder_.Read("manifest.pb");
    EXPECT_THAT(OpenDataset(folder_.path()),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr(why), HasSubstr("penstock index --update"),
                               HasSubstr("give " + folder_.File("manifest.pb")))));
    EXPECT_EQ(folder_.Read("manifest.pb"), before);
  }

  TempFolder folder_;
};

TEST_F(OpenDatasetTest, SaysWhatToGiveInsteadOfAShard) {
  const std::string shard = WriteShard(0);
  EXPECT_THAT(OpenDataset(shard),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("give its folder " + folder_.path()),
                             HasSubstr("penstock index " + shard + " -o " + folder_.path()))));
}

TEST_F(OpenDatasetTest, APathThatCannotBeOpenedIsNoShard) {
  EXPECT_THAT(OpenDataset(std::string(5000, 'x')),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("File name too long"), Not(HasSubstr("shard")))));
}

TEST_F(OpenDatasetTest, AFolderIsIndexedOnce) {
  WriteShard(0);
  WriteShard(1);
  ASSERT_OK_AND_ASSIGN(OpenedDataset first, OpenDataset(folder_.path() + "/"));
  EXPECT_TRUE(first.indexed);
  EXPECT_EQ(first.manifest_path, folder_.File("manifest.pb"));
  ASSERT_OK_AND_ASSIGN(OpenedDataset second, OpenDataset(folder_.path()));
  EXPECT_FALSE(second.indexed);
  ASSERT_OK_AND_ASSIGN(OpenedDataset by_name, OpenDataset(first.manifest_path));
  EXPECT_EQ(by_name.manifest.content_fingerprint(), first.manifest.content_fingerprint());
}

TEST_F(OpenDatasetTest, CanBeStoppedWhileTheManifestIsComparedWithTheFolder) {
  WriteShard(0);
  ASSERT_OK(OpenDataset(folder_.path()));
  int calls = 0, stop = 0;
  IndexOptions options;
  options.listing.check = [&] {
    return ++calls == stop ? absl::CancelledError("interrupted") : absl::OkStatus();
  };
  ASSERT_OK(OpenDataset(folder_.path(), options));
  EXPECT_GE(calls, 4);  // Two files are found; one is compared twice.
  for (stop = std::exchange(calls, 0); stop > 0; --stop, calls = 0) {
    EXPECT_THAT(OpenDataset(folder_.path(), options),
                StatusIs(absl::StatusCode::kCancelled, "interrupted"));
  }
}

TEST_F(OpenDatasetTest, ARunThatIndexesTheFolderIsWaitedFor) {
  WriteShard(0);
  std::promise<void> indexing, waited;
  IndexOptions first;
  first.progress = [&, calls = 0](uint64_t) mutable {
    if (calls++ == 0) {
      indexing.set_value();
      waited.get_future().wait();
    }
    return absl::OkStatus();
  };
  std::jthread other([&] {
    ASSERT_OK_AND_ASSIGN(OpenedDataset dataset, OpenDataset(folder_.path(), first));
    EXPECT_TRUE(dataset.indexed);
  });
  indexing.get_future().wait();
  IndexOptions second;
  second.on_wait = [&, calls = 0]() mutable {
    if (calls++ == 0) waited.set_value();
    return absl::OkStatus();
  };
  ASSERT_OK_AND_ASSIGN(OpenedDataset dataset, OpenDataset(folder_.path(), second));
  EXPECT_FALSE(dataset.indexed);
  EXPECT_EQ(dataset.manifest.num_records(Split::kAll), 100u);
  other.join();
  EXPECT_EQ(folder_.NumEntries(), 2u);  // No journal is left.
}

TEST_F(OpenDatasetTest, WaitingForAnotherRunCanBeEnded) {
  WriteShard(0);
  IndexOptions first;
  first.progress = [&](uint64_t) {
    IndexOptions second;
    second.on_wait = [] { return absl::CancelledError("enough"); };
    EXPECT_THAT(OpenDataset(folder_.path(), second),
                StatusIs(absl::StatusCode::kCancelled, HasSubstr("enough")));
    return absl::OkStatus();
  };
  EXPECT_OK(OpenDataset(folder_.path(), first));
}

TEST_F(OpenDatasetTest, AManifestThatLeavesShardsOutIsNotReplaced) {
  IndexByName({WriteShard(0), WriteShard(1)});
  const std::string held_back = WriteShard(2);
  ExpectDoesNotFit("it does not list " + held_back);
  ASSERT_OK_AND_ASSIGN(OpenedDataset by_name, OpenDataset(folder_.File("manifest.pb")));
  EXPECT_EQ(by_name.manifest.num_records(Split::kAll), 200u);
}

TEST_F(OpenDatasetTest, AShardThatChangedOrIsGoneIsNamed) {
  WriteShard(0);
  const std::string shard = WriteShard(1);
  ASSERT_OK(OpenDataset(folder_.path()));
  WriteShard(1, 50);
  ExpectDoesNotFit(shard + " has ");
  std::filesystem::remove(shard);
  ExpectDoesNotFit("it lists " + shard + ": No such file");
}

TEST_F(OpenDatasetTest, UpdatingMakesTheManifestFit) {
  WriteShard(0);
  ASSERT_OK(OpenDataset(folder_.path()));
  WriteShard(1);
  IndexOptions update;
  update.output = folder_.File("manifest.pb");
  update.update = true;
  ASSERT_OK(BuildIndex({folder_.path()}, update));
  ASSERT_OK_AND_ASSIGN(OpenedDataset updated, OpenDataset(folder_.path()));
  EXPECT_EQ(updated.manifest.num_records(Split::kAll), 200u);
}

TEST_F(OpenDatasetTest, AManifestOfAllShardsFitsHoweverItNamesThem) {
  const std::string first = WriteShard(0), second = WriteShard(1);
  IndexByName({second, first}, /*absolute=*/true);
  ASSERT_OK_AND_ASSIGN(OpenedDataset opened, OpenDataset(folder_.path()));
  EXPECT_FALSE(opened.indexed);
  EXPECT_EQ(opened.manifest.ShardPath(0), second);
}

TEST_F(OpenDatasetTest, ACopyWithOtherTimesFits) {
  const std::string shard = WriteShard(0);
  ASSERT_OK(OpenDataset(folder_.path()));
  const auto time = std::filesystem::last_write_time(shard);
  std::filesystem::last_write_time(shard, time - std::chrono::hours(1));
  ASSERT_OK_AND_ASSIGN(OpenedDataset opened, OpenDataset(folder_.path()));
  EXPECT_FALSE(opened.indexed);
}

TEST_F(OpenDatasetTest, AManifestOfFilesWithOtherNamesFits) {
  WriteShard(0);
  std::filesystem::rename(folder_.File("s0.tfrecord"), folder_.File("s0.records"));
  IndexByName({folder_.File("s0.records")});
  EXPECT_OK(OpenDataset(folder_.path()));
}

TEST_F(OpenDatasetTest, SaysHowATableBecomesADataset) {
  for (const char* name : {"t.csv", "t.JSONL.gz", "t.npz.zst"}) {
    const std::string path = folder_.Write(name, "a,b\n1,2\n");
    EXPECT_THAT(OpenDataset(path),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("is not a dataset; make one of it with penstock pack " + path)));
  }
  EXPECT_THAT(OpenDataset(folder_.Write("t", "a,b\n1,2\n")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("if it is a shard")));
}

}  // namespace
}  // namespace penstock
