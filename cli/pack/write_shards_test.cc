#include "cli/pack/write_shards.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "base/io/unique_fd.h"
#include "cli/pack/shard_staging.h"
#include "cli/terminal/interrupt.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/format/tfrecord.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Makes "record 0" and so on; the records in `invalid` are invalid.
class TextSource : public RecordSource {
 public:
  explicit TextSource(uint64_t size, std::string key = "") : size_(size), key_(std::move(key)) {}

  uint64_t size() const override { return size_; }
  uint64_t estimated_bytes() const override { return 30 * size_; }
  std::string key() const override { return key_; }
  std::string Name(uint64_t index) const override { return absl::StrCat("line ", index); }
  std::unique_ptr<RecordMaker> NewMaker() const override {
    return std::make_unique<TextMaker>(*this);
  }

  std::map<uint64_t, std::string> invalid;
  std::function<void(uint64_t)> on_make = [](uint64_t) {};

 private:
  class TextMaker : public RecordMaker {
   public:
    explicit TextMaker(const TextSource& source) : source_(source) {}
    absl::Status Make(uint64_t index, Made& made) override {
      source_.on_make(index);
      const auto found = source_.invalid.find(index);
      if (found != source_.invalid.end()) {
        made.invalid = absl::InvalidArgumentError(found->second);
      }
      text_ = absl::StrCat("record ", index);
      made.payload = BytesOf(text_);
      return absl::OkStatus();
    }

   private:
    const TextSource& source_;
    std::string text_;
  };

  const uint64_t size_;
  const std::string key_;
};

class WriteShardsTest : public ::testing::Test {
 protected:
  WriteShardsTest() {
    options_.folder = folder_.File("out");
    options_.name = "a";
    options_.records_per_shard = 10;
    options_.threads = 1;
  }

  absl::StatusOr<WrittenShards> Write(const RecordSource& source,
                                      const PackCallbacks& callbacks = {}) const {
    return WriteShards(source, options_, callbacks);
  }
  // Returns name and content of all files in the folder, hidden or not.
  static std::map<std::string, std::string> Files(const std::string& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      files[fs::relative(entry.path(), folder)] =
          std::string(std::istreambuf_iterator<char>(file), {});
    }
    return files;
  }
  std::map<std::string, std::string> Files() const { return Files(options_.folder); }
  static std::vector<std::string> Records(const std::string& shard) {
    std::vector<std::span<const uint8_t>> payloads;
    EXPECT_OK(ParseFrames(BytesOf(shard), Verify::kPayload, payloads));
    std::vector<std::string> records;
    for (const auto payload : payloads) records.emplace_back(payload.begin(), payload.end());
    return records;
  }
  // Runs in a process of its own, which is killed by SIGKILL.
  static void RunKilled(const std::function<void()>& run) {
    const pid_t child = fork();
    if (child == 0) {
      run();
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  }
  // Returns the shards of a run that is not stopped.
  std::map<std::string, std::string> Undisturbed(const RecordSource& source) {
    ShardOptions options = options_;
    options.folder = folder_.File("undisturbed");
    options.force = true;
    EXPECT_OK(WriteShards(source, options, {}));
    return Files(options.folder);
  }

  TempFolder folder_;
  ShardOptions options_;
};

TEST_F(WriteShardsTest, ThreadsChangeNothing) {
  options_.seed = 3;
  const TextSource source(95);
  const std::map<std::string, std::string> expected = Undisturbed(source);
  EXPECT_EQ(expected.size(), 10u);
  options_.threads = 7;
  ASSERT_OK(Write(source));
  EXPECT_EQ(Files(), expected);
}

TEST_F(WriteShardsTest, AKilledRunGoesOnToTheSameBytes) {
  TextSource source(95, "key");
  const std::map<std::string, std::string> expected = Undisturbed(source);
  RunKilled([&] {
    source.on_make = [](uint64_t index) {
      if (index == 47) std::raise(SIGKILL);
    };
    Write(source).IgnoreError();
  });
  // No shard gets its name before all are finished.
  EXPECT_EQ(Files().count("a-00000-of-00010.tfrecord"), 0u);
  uint64_t made = 0, finished = 0, kept_records = 0;
  source.on_make = [&](uint64_t) { ++made; };
  ASSERT_OK(Write(source, {.on_finished = [&](uint64_t shards, uint64_t records) {
                    finished = shards;
                    kept_records = records;
                  }}));
  EXPECT_EQ(finished, 4u);
  EXPECT_EQ(kept_records, 40u);
  EXPECT_EQ(made, 55u);
  EXPECT_EQ(Files(), expected);
}

TEST_F(WriteShardsTest, ARunThatWasKilledWhileItNamedShardsGoesOn) {
  const TextSource source(95, "key");
  const std::map<std::string, std::string> expected = Undisturbed(source);
  for (int named = 0; named <= 10; named += 5) {
    fs::remove_all(options_.folder);
    RunKilled([&] {
      Write(source, {.before_naming =
                         [] {
                           std::raise(SIGKILL);
                           return absl::OkStatus();
                         }})
          .IgnoreError();
    });
    const std::string staging = options_.folder + "/.a.partial/";
    std::ofstream(staging + "placing").close();
    for (int shard = 0; shard < named; ++shard) {
      const std::string file = ShardFile("a", static_cast<uint64_t>(shard), 10);
      fs::rename(staging + file, options_.folder + "/" + file);
    }
    ASSERT_OK(Write(source));
    EXPECT_EQ(Files(), expected);
  }
}

TEST_F(WriteShardsTest, AnotherKeyBeginsAnew) {
  const TextSource first(95, "key");
  RunKilled([&] {
    Write(first, {.before_naming =
                      [] {
                        std::raise(SIGKILL);
                        return absl::OkStatus();
                      }})
        .IgnoreError();
  });
  uint64_t finished = 99;
  bool discarded = false;
  const TextSource second(95, "other key");
  ASSERT_OK(Write(second, {.on_discarded = [&] { discarded = true; },
                           .on_finished = [&](uint64_t shards, uint64_t) { finished = shards; }}));
  EXPECT_EQ(finished, 0u);
  EXPECT_TRUE(discarded);
  EXPECT_EQ(Files().size(), 10u);
}

TEST_F(WriteShardsTest, OtherOptionsBeginAnew) {
  const TextSource source(95, "key");
  for (const bool seeded : {false, true}) {
    if (seeded) options_.seed = 1;
    uint64_t finished = 99;
    const absl::StatusOr<WrittenShards> written =
        Write(source, {.on_finished = [&](uint64_t shards, uint64_t) { finished = shards; },
                       .before_naming = [] { return absl::InternalError("stop"); }});
    EXPECT_THAT(written, StatusIs(absl::StatusCode::kInternal, "stop"));
    EXPECT_EQ(finished, 0u);
  }
}

TEST_F(WriteShardsTest, ASignalLeavesWhatWillBeGoneOnWith) {
  InterruptGuard guard;
  TextSource source(95, "key");
  source.on_make = [](uint64_t index) {
    if (index == 25) std::raise(SIGTERM);
  };
  EXPECT_THAT(Write(source),
              StatusIs(absl::StatusCode::kCancelled,
                       HasSubstr("interrupted by SIGTERM; 2 of 10 shards are "
                                 "finished; run the same command again to write the others")));
  EXPECT_FALSE(Files().empty());
}

TEST_F(WriteShardsTest, ARunWithoutAKeyLeavesNothing) {
  EXPECT_FALSE(
      Write(TextSource(95), {.before_naming = [] { return absl::InternalError("stop"); }}).ok());
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(WriteShardsTest, StopsAtAnInvalidRecordByName) {
  TextSource source(95);
  source.invalid[47] = "is no text";
  EXPECT_THAT(Write(source),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("line 47: is no text"), HasSubstr("--skip-invalid"))));
}

TEST_F(WriteShardsTest, SkippedRecordsLeaveOtherShardsAsTheyAre) {
  TextSource source(30);
  const std::map<std::string, std::string> expected = Undisturbed(source);
  source.invalid[13] = "is no text";
  options_.skip_invalid = true;
  ASSERT_OK_AND_ASSIGN(const WrittenShards written, Write(source));
  EXPECT_EQ(written.records, 29u);
  EXPECT_EQ(written.num_skipped, 1u);
  ASSERT_EQ(written.skipped.size(), 1u);
  EXPECT_EQ(written.skipped[0].index, 13u);
  EXPECT_EQ(written.skipped[0].reason, "is no text");
  const std::map<std::string, std::string> files = Files();
  EXPECT_EQ(files.at("a-00000-of-00003.tfrecord"), expected.at("a-00000-of-00003.tfrecord"));
  EXPECT_EQ(files.at("a-00002-of-00003.tfrecord"), expected.at("a-00002-of-00003.tfrecord"));
  EXPECT_EQ(Records(files.at("a-00001-of-00003.tfrecord")).size(), 9u);
}

TEST_F(WriteShardsTest, TellsWhatAnEarlierRunSkipped) {
  TextSource source(30, "key");
  source.invalid[3] = "is no text";
  options_.skip_invalid = true;
  const PackCallbacks stop = {.before_naming = [] { return absl::InternalError("stop"); }};
  EXPECT_FALSE(Write(source, stop).ok());
  source.invalid.clear();
  ASSERT_OK_AND_ASSIGN(const WrittenShards written, Write(source));
  EXPECT_EQ(written.num_skipped, 1u);
  EXPECT_EQ(written.skipped[0].reason, "is no text");
}

TEST_F(WriteShardsTest, WhatMayNoLongerBeSkippedIsReadAgain) {
  TextSource source(30, "key");
  source.invalid[3] = "is no text";
  options_.skip_invalid = true;
  EXPECT_FALSE(Write(source, {.before_naming = [] { return absl::InternalError("stop"); }}).ok());
  options_.skip_invalid = false;
  EXPECT_THAT(Write(source), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("line 3")));
}

TEST_F(WriteShardsTest, RefusesToWriteNoRecord) {
  TextSource source(2);
  source.invalid = {{0, "is empty"}, {1, "is empty too"}};
  options_.skip_invalid = true;
  EXPECT_THAT(Write(source), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("all 2 were skipped, the first for this reason: "
                                                "line 0: is empty")));
}

TEST_F(WriteShardsTest, TwoRunsDoNotWriteTheSameShards) {
  const TextSource source(30);
  absl::Status second;
  ASSERT_OK(Write(source, {.before_naming = [&] {
                    second = Write(source).status();
                    return absl::OkStatus();
                  }}));
  EXPECT_THAT(second, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("another run")));
}

// The other run ended between the opening and the locking of its key file, which is then gone.
TEST_F(WriteShardsTest, AKeyFileThatIsRemovedIsNoLock) {
  const std::string file = folder_.Write("removed", "");
  const UniqueFd fd(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(fd.valid());
  fs::remove(file);
  fs::create_directories(options_.folder + "/.a.partial");
  fs::create_symlink(absl::StrCat("/proc/self/fd/", fd.get()), options_.folder + "/.a.partial/key");
  EXPECT_THAT(Write(TextSource(30)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("another run")));
}

TEST_F(WriteShardsTest, OldShardsStayUntilTheNewOnesAreFinished) {
  ASSERT_OK(Write(TextSource(30)));
  const std::map<std::string, std::string> old = Files();
  options_.force = true;
  EXPECT_FALSE(
      Write(TextSource(20), {.before_naming = [] { return absl::InternalError("stop"); }}).ok());
  EXPECT_EQ(Files(), old);
  ASSERT_OK(Write(TextSource(20)));
  EXPECT_EQ(Files().size(), 2u);
}

}  // namespace
}  // namespace penstock
