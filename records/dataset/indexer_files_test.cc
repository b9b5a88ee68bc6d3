#include "records/dataset/indexer.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/dataset/testing/indexer_fixture.h"
#include "records/format/testing/shard_builder.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(IndexerTest, FindsShardsBeneathTheFolderInOrder) {
  folder_.Write("sub/b.tfrecord", ChessShard(3).text());
  folder_.Write("a.tfrecord-00000-of-00001", ChessShard(2).text());
  folder_.Write("notes.txt", "not a shard");
  folder_.Write(".hidden.tfrecord", "not a shard");
  ASSERT_OK_AND_ASSIGN(IndexResult result, Index());
  ASSERT_EQ(result.manifest.shards().size(), 2u);
  EXPECT_EQ(result.manifest.shards()[0].path, "a.tfrecord-00000-of-00001");
  EXPECT_EQ(result.manifest.shards()[1].path, "sub/b.tfrecord");
  EXPECT_EQ(result.manifest.num_records(Split::kAll), 5u);
  EXPECT_TRUE(result.saved);
}

TEST_F(IndexerTest, AnEmptyShardIsListedAndAnEmptyFolderIsAnError) {
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("no files *.tfrecord*")));
  folder_.Write("empty.tfrecord", "");
  ASSERT_OK_AND_ASSIGN(IndexResult result, Index());
  EXPECT_EQ(result.manifest.shards().size(), 1u);
  EXPECT_EQ(result.manifest.num_chunks(), 0u);
}

TEST_F(IndexerTest, NamesMissingAndRepeatedFiles) {
  WriteShards(1);
  const std::string file = folder_.File("s0.tfrecord");
  EXPECT_THAT(BuildIndex({folder_.File("none")}, options_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
  EXPECT_THAT(BuildIndex({file, folder_.path() + "/./s0.tfrecord"}, options_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("named twice")));
}

TEST_F(IndexerTest, CanBeStoppedWhileItListsShards) {
  WriteShards(3);
  options_.in_memory = true;
  int calls = 0, stop = 0;
  options_.listing.check = [&] {
    return ++calls == stop ? absl::CancelledError("interrupted") : absl::OkStatus();
  };
  ASSERT_OK(Index());
  const int all = calls;
  EXPECT_GE(all, 9);  // Each file is found, compared and opened.
  for (stop = 1; stop <= all; ++stop) {
    calls = 0;
    EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kCancelled, "interrupted"));
    EXPECT_EQ(calls, stop);
  }
}

// Runs as a user other than root, because root may read everything.
class UnprivilegedIndexerTest : public IndexerTest {
 protected:
  static constexpr uid_t kNobody = 65534;

  UnprivilegedIndexerTest() {
    options_.in_memory = true;
    options_.listing.skipped = [this](const std::string& folder) { skipped_.push_back(folder); };
    std::filesystem::permissions(folder_.path(), std::filesystem::perms::all);
    BecomeUser(kNobody);
  }
  ~UnprivilegedIndexerTest() override {
    BecomeUser(0);
    for (const std::string& folder : locked_) {
      std::filesystem::permissions(folder, std::filesystem::perms::all);
    }
  }

  void WriteLocked(const std::string& folder) {
    folder_.Write(folder + "/s.tfrecord", ChessShard(1).text());
    locked_.push_back(folder_.File(folder));
    std::filesystem::permissions(locked_.back(), std::filesystem::perms::none);
  }

  void BecomeUser(uid_t user) {
    if (was_root_ && ::seteuid(user) != 0) abort();
  }

  const bool was_root_ = ::geteuid() == 0;
  std::vector<std::string> locked_, skipped_;
};

TEST_F(UnprivilegedIndexerTest, LostAndFoundIsLeftOut) {
  WriteShards(1);
  WriteLocked("lost+found");
  ASSERT_OK_AND_ASSIGN(const IndexResult result, Index());
  EXPECT_EQ(result.manifest.shards().size(), 1u);
  EXPECT_THAT(skipped_, ::testing::ElementsAre(folder_.File("lost+found")));
}

TEST_F(UnprivilegedIndexerTest, OtherFoldersAreNot) {
  WriteShards(1);
  WriteLocked("lost");
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("/lost")));
  EXPECT_TRUE(skipped_.empty());
}

TEST_F(IndexerTest, ALinkDoesNotMakeTwoShardsOfOne) {
  folder_.Write("2024/s.tfrecord", ChessShard(10).text());
  std::filesystem::create_directory_symlink("2024", folder_.File("latest"));
  EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kInvalidArgument,
                                AllOf(HasSubstr("latest/s.tfrecord: is the same file as"),
                                      HasSubstr("2024/s.tfrecord"))));
}

TEST_F(IndexerTest, LinksWithinTheFolderAreFollowed) {
  folder_.Write("data/.v1/s.tfrecord", ChessShard(10).text());
  std::filesystem::create_directory_symlink(".v1", folder_.File("data/latest"));
  EXPECT_OK(BuildIndex({folder_.File("data")}, options_));
}

TEST_F(IndexerTest, NamesALinkThatServersDoNotFollow) {
  folder_.Write("elsewhere/s.tfrecord", ChessShard(10).text());
  folder_.Write("data/a.tfrecord", ChessShard(10).text());
  std::filesystem::create_directory_symlink("../elsewhere", folder_.File("data/link"));
  const std::string data = folder_.File("data");
  options_.output = data + "/manifest.pb";
  EXPECT_THAT(BuildIndex({data}, options_),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(HasSubstr(data + "/link: is a link to ../elsewhere"),
                             HasSubstr("lead out of " + data))));
  EXPECT_FALSE(std::filesystem::exists(options_.output));
  options_.output = folder_.File("manifest.pb");
  EXPECT_OK(BuildIndex({data}, options_));
  options_.in_memory = true;
  options_.output = data + "/manifest.pb";
  EXPECT_OK(BuildIndex({data}, options_));
}

TEST_F(IndexerTest, NamesAnAbsoluteLinkAlsoAmongAbsolutePaths) {
  const std::string shard = folder_.Write("data/v1", ChessShard(10).text());
  std::filesystem::create_symlink(shard, folder_.File("data/s.tfrecord"));
  for (const bool absolute : {false, true}) {
    options_.absolute = absolute;
    EXPECT_THAT(Index(), StatusIs(absl::StatusCode::kPermissionDenied,
                                  HasSubstr("/data/s.tfrecord: is a link to " + shard)));
  }
  std::filesystem::remove(folder_.File("data/s.tfrecord"));
  EXPECT_OK(BuildIndex({shard}, options_));
}

}  // namespace
}  // namespace penstock
