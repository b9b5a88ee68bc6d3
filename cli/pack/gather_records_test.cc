#include "cli/pack/gather_records.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "cli/pack/write_shards.h"
#include "cli/terminal/interrupt.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Makes "record 0", "record 1" and so on, one for each byte of the file. The record of a byte other
// than '.' is invalid.
class LettersAsRecords : public InputRecords {
 public:
  explicit LettersAsRecords(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

  absl::StatusOr<bool> Next(InputRecord& record) override {
    if (read_ == source_->size()) return false;
    uint8_t letter = 0;
    if (absl::Status status = source_->ReadAt(read_, std::span(&letter, 1)); !status.ok()) {
      return status;
    }
    text_ = absl::StrCat("record ", read_++);
    record = {};
    record.payload = BytesOf(text_);
    if (letter != '.') record.invalid = absl::InvalidArgumentError(Place() + ": is no dot");
    return true;
  }
  std::string Place() const override { return absl::StrCat("letter ", read_ - 1); }

 private:
  const std::unique_ptr<ByteSource> source_;
  uint64_t read_ = 0;
  std::string text_;
};

class GatherRecordsTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<GatheredRecords>> Gather(const InputFiles& files) {
    options_.folder = folder_.path();
    std::vector<InputFiles> inputs;
    for (const std::string& file : files) inputs.push_back({file});
    return GatherRecords(
        inputs,
        [](std::vector<std::unique_ptr<ByteSource>> sources) {
          return std::make_unique<LettersAsRecords>(std::move(sources[0]));
        },
        options_, [this](uint64_t bytes) { told_ += bytes; });
  }
  static std::vector<std::string> Payloads(const RecordSource& records) {
    std::vector<std::string> payloads;
    const std::unique_ptr<RecordMaker> maker = records.NewMaker();
    for (uint64_t i = 0; i < records.size(); ++i) {
      RecordMaker::Made made;
      EXPECT_OK(maker->Make(i, made));
      payloads.emplace_back(made.payload.begin(), made.payload.end());
    }
    return payloads;
  }
  std::string KeyOf(const std::vector<std::string>& files) {
    return Gather(files).value()->records.key();
  }

  TempFolder folder_;
  GatherOptions options_;
  uint64_t told_ = 0;
};

TEST_F(GatherRecordsTest, CopiesOutliveTheInput) {
  const std::string a = folder_.Write("a", ".."), b = folder_.Write("b", "...");
  ASSERT_OK_AND_ASSIGN(const auto gathered, Gather({a, b}));
  std::filesystem::remove(a);
  EXPECT_THAT(Payloads(gathered->records),
              ElementsAre("record 0", "record 1", "record 0", "record 1", "record 2"));
  EXPECT_EQ(told_, 5u);
  EXPECT_EQ(gathered->records.estimated_bytes(), 5u * (8 + kFrameOverhead));
}

TEST_F(GatherRecordsTest, TheTemporaryFileHasNoName) {
  const std::string a = folder_.Write("a", "..");
  ASSERT_OK_AND_ASSIGN(const auto gathered, Gather({a}));
  EXPECT_EQ(folder_.NumEntries(), 1u);
}

TEST_F(GatherRecordsTest, ListsTheFirstOfManyInvalidRecords) {
  options_.skip_invalid = true;
  const std::string a = folder_.Write("a", std::string(1500, 'x') + ".");
  ASSERT_OK_AND_ASSIGN(const auto gathered, Gather({a}));
  EXPECT_THAT(Payloads(gathered->records), ElementsAre("record 1500"));
  EXPECT_EQ(gathered->num_skipped, 1500u);
  ASSERT_EQ(gathered->skipped.size(), GatheredRecords::kMaxListed);
  EXPECT_EQ(gathered->skipped[7], "letter 7: is no dot");
}

TEST_F(GatherRecordsTest, TheKeyCoversFilesAndOptions) {
  const std::string a = folder_.Write("a", ".."), b = folder_.Write("b", "...");
  const std::string key = KeyOf({a, b});
  EXPECT_EQ(KeyOf({a, b}), key);
  EXPECT_NE(KeyOf({b, a}), key);
  options_.kind = "other";
  EXPECT_NE(KeyOf({a, b}), key);
  options_.kind = "";
  options_.must_have = {"x"};
  const std::string with_x = KeyOf({});
  options_.must_have = {"y"};
  EXPECT_NE(KeyOf({}), with_x);
  options_.must_have = {};
  const auto written = std::filesystem::last_write_time(b);
  std::filesystem::last_write_time(b, written + std::chrono::seconds(1));
  EXPECT_NE(KeyOf({a, b}), key) << "another file of the same size";
  folder_.Write("b", "....");
  std::filesystem::last_write_time(b, written);
  EXPECT_NE(KeyOf({a, b}), key) << "another size at the same time";
}

TEST_F(GatherRecordsTest, ARunGoesOnWithWhatAnotherHasWritten) {
  const std::string a = folder_.Write("a", std::string(50, '.'));
  ShardOptions shards = {.folder = folder_.File("out"), .name = "a", .records_per_shard = 10};
  shards.seed = 1;
  ASSERT_OK_AND_ASSIGN(const auto first, Gather({a}));
  const auto stop = [] { return absl::InternalError("stop"); };
  EXPECT_FALSE(WriteShards(first->records, shards, {.before_naming = stop}).ok());
  ASSERT_OK_AND_ASSIGN(const auto second, Gather({a}));
  uint64_t finished = 0;
  const auto note = [&](uint64_t count, uint64_t) { finished = count; };
  ASSERT_OK_AND_ASSIGN(const WrittenShards written,
                       WriteShards(second->records, shards, {.on_finished = note}));
  EXPECT_EQ(finished, 5u);
  EXPECT_EQ(written.records, 50u);
}

TEST_F(GatherRecordsTest, ASignalEndsIt) {
  InterruptGuard guard;
  std::raise(SIGTERM);
  EXPECT_THAT(Gather({folder_.Write("a", "..")}),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("SIGTERM")));
}

TEST(LocatedRecordsTest, AFileThatChangedIsAnError) {
  TempFolder folder;
  std::vector<uint8_t> frames;
  AppendFrame(BytesOf("alpha"), frames);
  const std::string path = folder.Write("a", std::string(frames.begin(), frames.end()));
  const FileIdentity identity = FileSource::Open(path).value()->identity();
  LocatedRecords records;
  const uint32_t file = records.AddFile(path, identity);
  ASSERT_OK(records.Add(file, 0, 5));
  EXPECT_EQ(records.Name(0), path + ": record at offset 0");
  RecordMaker::Made made;
  EXPECT_OK(records.NewMaker()->Make(0, made));
  folder.Write("a", "another file");
  EXPECT_THAT(records.NewMaker()->Make(0, made),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("changed while")));
}

}  // namespace
}  // namespace penstock
