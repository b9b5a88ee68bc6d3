#include "cli/pack/shard_notes.h"

#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

TEST(ShardNotesTest, AreReadAsTheyWereWritten) {
  ShardNotes notes;
  notes.records = 12;
  notes.Skip(3, "this is WebP, which is not supported");
  notes.Skip(7, "two\nlines");
  ASSERT_OK_AND_ASSIGN(const ShardNotes read, ShardNotes::Parse(notes.Serialize()));
  EXPECT_EQ(read.records, 12u);
  EXPECT_EQ(read.num_skipped, 2u);
  ASSERT_EQ(read.skipped.size(), 2u);
  EXPECT_EQ(read.skipped[0].index, 3u);
  EXPECT_EQ(read.skipped[0].reason, "this is WebP, which is not supported");
  EXPECT_EQ(read.skipped[1].reason, "two\\nlines");
}

TEST(ShardNotesTest, CountWhatIsNotListed) {
  ShardNotes notes;
  for (uint64_t i = 0; i < 2 * ShardNotes::kMaxListed; ++i) notes.Skip(i, "empty");
  ASSERT_OK_AND_ASSIGN(const ShardNotes read, ShardNotes::Parse(notes.Serialize()));
  EXPECT_EQ(read.num_skipped, 2 * ShardNotes::kMaxListed);
  EXPECT_EQ(read.skipped.size(), ShardNotes::kMaxListed);
}

TEST(ShardNotesTest, CutNotesAreRefused) {
  ShardNotes notes;
  notes.records = 12;
  notes.Skip(3, "x");
  const std::string text = notes.Serialize();  // "12 1\n3 x\n"
  for (size_t size = 0; size < text.size(); ++size) {
    if (size == 5) continue;  // At the end of a line: fewer records are listed than were counted.
    EXPECT_FALSE(ShardNotes::Parse(text.substr(0, size)).ok()) << size;
  }
}

}  // namespace
}  // namespace penstock
