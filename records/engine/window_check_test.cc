#include "records/engine/window_check.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kMax32 = std::numeric_limits<uint32_t>::max();
constexpr uint64_t kMax64 = std::numeric_limits<uint64_t>::max();

// A valid window of one chunk, which tests make invalid.
class WindowCheckTest : public ::testing::Test {
 protected:
  WindowCheckTest() {
    window_.window = 3;
    window_.shards = {{"a.tfrecord", Container::kTfRecord, 10000}};
    window_.chunks = {{.offset = 1000, .size = 4000, .raw_size = 4000, .records = 20}};
    window_.rows = 20;
  }
  ChunkRef& chunk() { return window_.chunks[0]; }
  absl::Status Check(bool has_holdout = true) {
    return CheckWindow(window_, has_holdout, EngineLimits());
  }
  void ExpectInvalid(const std::string& why) {
    EXPECT_THAT(Check(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)));
  }

  OpenWindow window_;
};

TEST_F(WindowCheckTest, AcceptsASoundWindow) { EXPECT_OK(Check()); }

TEST_F(WindowCheckTest, CountsTheRowsOfTheSplit) {
  chunk().holdout = 5;
  window_.split = Split::kTrain;
  window_.rows = 15;
  EXPECT_OK(Check());
  window_.split = Split::kHoldout;
  ExpectInvalid("5 rows in the split, but the window states 15");
}

TEST_F(WindowCheckTest, RefusesChunksBeyondTheirShard) {
  chunk().offset = 6001;
  ExpectInvalid("4000 bytes at offset 6001 are not in shard 'a.tfrecord', which has 10000 bytes");
}

TEST_F(WindowCheckTest, SaysWhatMakesAChunkSmaller) {
  window_.shards[0].size = kMax64;
  chunk().size = 1000;
  chunk().raw_size = EngineLimits().max_chunk_bytes + 1;
  window_.shards[0].container = Container::kZstd;
  EXPECT_THAT(Check(), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("penstock pack")));
  window_.shards[0].container = Container::kTfRecord;
  chunk().size = chunk().raw_size;
  EXPECT_THAT(Check(), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("index it again")));
}

TEST_F(WindowCheckTest, RefusesOffsetsNearTheEndOfNumbers) {
  chunk().offset = kMax64 - 10;
  ExpectInvalid("are not in shard");
}

TEST_F(WindowCheckTest, RefusesAnUnknownShard) {
  chunk().shard = 1;
  ExpectInvalid("refers to shard 1, but the window has 1 shards");
}

TEST_F(WindowCheckTest, RefusesMoreRecordsThanFit) {
  chunk().records = window_.rows = kMax32;
  ExpectInvalid("4294967295 records in 4000 bytes");
  chunk().records = window_.rows = 0;
  ExpectInvalid("0 records");
}

TEST_F(WindowCheckTest, RefusesAbsurdDecompressedSizes) {
  window_.shards[0].container = Container::kZstd;
  chunk().raw_size = kMax32;
  EXPECT_THAT(Check(), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("67108864")));
}

TEST_F(WindowCheckTest, RefusesTwoSizesWithoutCompression) {
  chunk().raw_size = 5000;
  ExpectInvalid("differ in a TFRecord file");
}

TEST_F(WindowCheckTest, RefusesHoldoutWithoutASplit) {
  chunk().holdout = 1;
  EXPECT_THAT(Check(/*has_holdout=*/false),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("defined no holdout split")));
  chunk().holdout = 21;
  ExpectInvalid("21 of 20 records");
}

TEST_F(WindowCheckTest, RefusesOrdinalsThatNoInt64Holds) {
  chunk().ordinal = kMax64;
  ExpectInvalid("ordinal");
}

TEST_F(WindowCheckTest, RefusesTooManyChunksWithTheNumbers) {
  window_.chunks.resize(5000, chunk());
  EXPECT_THAT(Check(), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("5000 chunks")));
}

TEST_F(WindowCheckTest, ASpareHasNoRows) {
  window_.chunks.push_back(chunk());
  ExpectInvalid("40 rows in the split, but the window states 20");
  window_.has_spare = true;
  EXPECT_OK(Check());
  window_.chunks[1].records = 0;
  ExpectInvalid("chunk 1: 0 records");
}

TEST_F(WindowCheckTest, ASpareIsNotAWindow) {
  window_.has_spare = true;
  ExpectInvalid("has no chunk");
}

TEST_F(WindowCheckTest, ASpareMayBeOneChunkAndShardMore) {
  const size_t most = EngineLimits().max_chunks_per_window;
  window_.chunks.resize(most + 1, chunk());
  window_.shards.resize(most + 1, window_.shards[0]);
  window_.rows = static_cast<uint32_t>(20 * most);
  window_.has_spare = true;
  EXPECT_OK(Check());
  window_.shards.push_back(window_.shards[0]);
  EXPECT_THAT(Check(), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("4098 shards")));
}

TEST_F(WindowCheckTest, RefusesAnEmptyOrHugePath) {
  window_.shards[0].path.clear();
  ExpectInvalid("no path");
  window_.shards[0].path.assign(5000, 'x');
  EXPECT_THAT(Check(), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("5000 bytes")));
}

TEST_F(WindowCheckTest, RefusesAnEmptyWindow) {
  window_.chunks.clear();
  ExpectInvalid("window 3: has no chunk");
}

TEST(FetchCheckTest, AcceptsRowsUpToTheEnd) {
  EXPECT_OK(CheckFetch({.first_row = 2, .rows = 3, .stride = 5, .count = 4}, 20));
}

TEST(FetchCheckTest, RefusesRowsBeyondTheWindow) {
  EXPECT_THAT(CheckFetch({.first_row = 3, .rows = 3, .stride = 5, .count = 4}, 20),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the window has 20 rows")));
}

TEST(FetchCheckTest, RefusesWhatWouldOverflow) {
  for (const Fetch& fetch :
       {Fetch{.rows = kMax32, .stride = kMax32, .count = kMax32},
        Fetch{.first_row = kMax32, .rows = 1},
        Fetch{.first_row = kMax32, .rows = kMax32, .stride = kMax32, .count = kMax32}}) {
    EXPECT_THAT(CheckFetch(fetch, 1000), StatusIs(absl::StatusCode::kInvalidArgument,
                                                  HasSubstr("the window has 1000 rows")));
  }
}

TEST(FetchCheckTest, RefusesNothingOverlapAndUnknownDtypes) {
  EXPECT_THAT(CheckFetch({.rows = 0}, 20),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no row")));
  EXPECT_THAT(CheckFetch({.rows = 1, .count = 0}, 20),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no row")));
  EXPECT_THAT(CheckFetch({.rows = 2, .stride = 1, .count = 2}, 20),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("overlap")));
  EXPECT_THAT(CheckFetch({.rows = 1, .dtype = static_cast<WireDtype>(9)}, 20),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("dtype 9")));
}

}  // namespace
}  // namespace penstock
