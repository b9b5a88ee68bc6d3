// Tests what is served for records that servers agreed are damaged.
#include <algorithm>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/engine/testing/engine_fixture.h"
#include "records/format/tfrecord.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ReplacementTest : public EngineFixture {
 protected:
  // Damages a record of chunk `c`, which is in shard-0: a byte of its length, or of its payload.
  void DamageLength(size_t c, uint32_t record) { FlipByte(c, record, 2); }
  void DamagePayload(size_t c, uint32_t record) { FlipByte(c, record, 40); }
  void FlipByte(size_t c, uint32_t record, uint64_t byte) {
    std::string bytes = folder_.Read(kShard);
    const std::span all(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    size_t offset = data_->chunks()[c].offset;
    for (uint32_t r = 0; r < record; ++r) {
      offset += ParseFrame(all, offset, Verify::kLength).value().size();
    }
    bytes[offset + byte] ^= 0x10;
    folder_.Write(kShard, bytes);
  }
  bool IsListed(const OpenWindow& window, uint32_t chunk, uint32_t record) {
    return std::ranges::any_of(window.damaged, [=](const DamagedRecord& damaged) {
      return damaged.chunk == chunk &&
             (damaged.rest_of_chunk ? record >= damaged.record : record == damaged.record);
    });
  }
  // The id of each row of the window in order, written out from the definition in
  // docs/reference/protocol_damage.md.
  std::vector<uint64_t> Expected(const OpenWindow& window) {
    std::vector<std::vector<std::pair<uint32_t, bool>>> rows(window.chunks.size());
    for (uint32_t c = 0; c < rows.size(); ++c) {
      const ChunkRef& chunk = window.chunks[c];
      uint32_t missing = chunk.holdout;
      for (uint32_t r = 0; r < chunk.records; ++r) {
        missing -= !IsListed(window, c, r) && data_->InHoldout(chunk.ordinal + r);
      }
      for (uint32_t r = 0; r < chunk.records; ++r) {
        const bool damaged = IsListed(window, c, r);
        bool holdout = !damaged && data_->InHoldout(chunk.ordinal + r);
        if (damaged && missing > 0) holdout = true, --missing;
        if (window.split == Split::kAll || holdout == (window.split == Split::kHoldout)) {
          rows[c].emplace_back(r, damaged);
        }
      }
    }
    std::vector<uint64_t> ids;
    for (uint32_t c = 0; c < window.num_row_chunks(); ++c) {
      for (size_t i = 0; i < rows[c].size(); ++i) {
        ids.push_back(rows[c][i].second ? StandIn(window, rows, c, i)
                                        : window.chunks[c].ordinal + rows[c][i].first);
      }
    }
    return data_->Shuffled(window, ids);
  }
  static uint64_t StandIn(const OpenWindow& window,
                          const std::vector<std::vector<std::pair<uint32_t, bool>>>& rows,
                          uint32_t c, size_t i) {
    const size_t own = window.num_row_chunks();
    for (size_t chunks = 0; chunks < rows.size(); ++chunks) {
      const size_t at = chunks < own ? (c + chunks) % own : own;  // The spare comes last.
      const auto& candidates = rows[at];
      for (size_t n = 0; n < candidates.size(); ++n) {
        const auto& [record, damaged] = candidates[((chunks == 0 ? i : 0) + n) % candidates.size()];
        if (!damaged) return kReplacedRecord | (window.chunks[at].ordinal + record);
      }
    }
    ADD_FAILURE() << "nothing can stand in";
    return 0;
  }
  // Opens `window`, fetches all of it and compares the rows.
  void ExpectReplaced(const OpenWindow& window) {
    if (engine_ == nullptr) Start();
    Recorder client;
    auto session = Open(client, /*record_ids=*/true);
    ASSERT_OK(session->OpenWindow(window));
    const Fetch fetch = FetchAll(window, 1, WireDtype::kF32);
    ASSERT_OK(session->Fetch(fetch));
    ASSERT_TRUE(client.WaitRows(1, window.rows)) << client.errors()[0].status;
    EXPECT_EQ(Rows(client, 1, WireDtype::kF32, true),
              data_->Decode(Expected(window), WireDtype::kF32, true));
  }
  StreamError OpenAndFail(const OpenWindow& window) {
    Start();
    Recorder client;
    auto session = Open(client);
    EXPECT_OK(session->OpenWindow(window));
    EXPECT_TRUE(client.WaitErrors(1));
    const std::vector<StreamError> errors = client.errors();
    return errors.empty() ? StreamError() : errors[0];
  }
  OpenWindow Window(Split split, std::vector<DamagedRecord> damaged) {
    OpenWindow window = data_->Window(1, {0, 1, 2}, split, /*shuffle=*/true, /*key=*/5);
    window.damaged = std::move(damaged);
    return window;
  }

  // Chunks 0 and 1, in which all records are damaged, with chunk 2 as the spare.
  OpenWindow WithSpare(Split split, std::vector<DamagedRecord> damaged_too = {}) {
    OpenWindow window = data_->Window(1, {0, 1}, split, /*shuffle=*/true, /*key=*/5);
    window.chunks.push_back(data_->chunks()[2]);
    window.has_spare = true;
    window.damaged = {{0, 0, true}, {1, 0, true}};
    window.damaged.insert(window.damaged.end(), damaged_too.begin(), damaged_too.end());
    return window;
  }

  static constexpr const char* kShard = "shard-0.tfrecord";
};

TEST_F(ReplacementTest, TheNextGoodRecordOfTheChunkStandsForADamagedOne) {
  MakeData();
  for (uint32_t record : {7u, 8u, 49u}) DamagePayload(1, record);
  ExpectReplaced(Window(Split::kAll, {{1, 49}, {1, 8}, {1, 7}, {1, 7}}));
}

TEST_F(ReplacementTest, EverySplitKeepsItsCount) {
  MakeData({.holdout_threshold = uint32_t{1} << 30});
  std::vector<DamagedRecord> damaged;
  for (uint32_t record = 5; record < 40; record += 3) {
    DamagePayload(1, record);
    damaged.push_back({1, record});
  }
  for (Split split : {Split::kAll, Split::kTrain, Split::kHoldout}) {
    ExpectReplaced(Window(split, damaged));
  }
}

TEST_F(ReplacementTest, ABrokenFrameLosesTheRestOfItsChunk) {
  MakeData({.holdout_threshold = uint32_t{1} << 30});
  DamageLength(1, 9);
  for (Split split : {Split::kAll, Split::kTrain, Split::kHoldout}) {
    ExpectReplaced(Window(split, {{1, 9, true}}));
  }
}

TEST_F(ReplacementTest, FollowingChunksStandForAChunkWithoutAGoodRecord) {
  MakeData({.holdout_threshold = uint32_t{1} << 30});
  DamageLength(2, 0);
  for (Split split : {Split::kAll, Split::kTrain, Split::kHoldout}) {
    ExpectReplaced(Window(split, {{2, 0, true}}));
    ExpectReplaced(Window(split, {{1, 0, true}, {2, 0, true}}));
    ExpectReplaced(Window(split, {{0, 0, true}, {2, 0, true}}));
  }
}

TEST_F(ReplacementTest, ADamagedMemberIsReplacedFromOtherChunks) {
  for (Compression compression : {Compression::kGzip, Compression::kZstd}) {
    MakeData({.compression = compression, .holdout_threshold = uint32_t{1} << 30});
    std::string bytes = folder_.Read(kShard);
    bytes[data_->chunks()[1].offset + data_->chunks()[1].size / 2] ^= 0x10;
    folder_.Write(kShard, bytes);
    Start();
    ExpectReplaced(Window(Split::kTrain, {{1, 0, true}}));
  }
}

// The list decides: a server whose own copy is sound serves the same rows as the others.
TEST_F(ReplacementTest, ASoundCopyServesTheSameRows) {
  MakeData({.holdout_threshold = uint32_t{1} << 30});
  Start();
  for (Split split : {Split::kAll, Split::kTrain, Split::kHoldout}) {
    ExpectReplaced(Window(split, {{0, 11}, {1, 30, true}, {2, 49}}));
  }
}

TEST_F(ReplacementTest, ChunksWithAndWithoutAListAreDifferentChunks) {
  MakeData();
  Start();
  ExpectReplaced(Window(Split::kAll, {{1, 3}}));
  ExpectReplaced(Window(Split::kAll, {}));
  ExpectReplaced(Window(Split::kAll, {{1, 4}}));
  ExpectReplaced(Window(Split::kAll, {{1, 3}, {1, 5, true}}));
}

TEST_F(ReplacementTest, DamageThatIsNotListedIsNamed) {
  MakeData();
  DamagePayload(1, 7);
  DamagePayload(1, 20);
  const StreamError error = OpenAndFail(Window(Split::kAll, {{1, 7}}));
  EXPECT_THAT(error.status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("record 20")));
  ASSERT_TRUE(error.damage);
  EXPECT_EQ(error.damage->record, 20u);
  EXPECT_FALSE(error.damage->rest_of_chunk);
}

TEST_F(ReplacementTest, ABrokenLengthOfAListedRecordIsNamedAsTheRestOfTheChunk) {
  MakeData();
  DamageLength(1, 7);
  const StreamError error = OpenAndFail(Window(Split::kAll, {{1, 7}}));
  ASSERT_TRUE(error.damage) << error.status;
  EXPECT_EQ(error.damage->record, 7u);
  EXPECT_TRUE(error.damage->rest_of_chunk);
}

TEST_F(ReplacementTest, AListThatDoesNotExplainTheChecksumMeansThatTheShardChanged) {
  MakeData();
  OpenWindow window = Window(Split::kAll, {{1, 7}});
  window.chunks[1].crc32c ^= 1;
  EXPECT_THAT(OpenAndFail(window).status,
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("changed since")));
}

TEST_F(ReplacementTest, AListThatDoesNotExplainTheChecksumOfAMemberIsAnsweredByTheWholeChunk) {
  MakeData({.compression = Compression::kZstd});
  OpenWindow window = Window(Split::kAll, {{1, 7}});
  window.chunks[1].crc32c ^= 1;
  const StreamError error = OpenAndFail(window);
  ASSERT_TRUE(error.damage) << error.status;
  EXPECT_EQ(error.damage->record, 0u);
  EXPECT_TRUE(error.damage->rest_of_chunk);
  window.damaged.push_back({1, 0, true});
  ExpectReplaced(window);
}

TEST_F(ReplacementTest, AWindowWithoutAGoodRecordOfItsSplitIsLost) {
  MakeData({.holdout_threshold = uint32_t{1} << 30});
  const StreamError error =
      OpenAndFail(Window(Split::kHoldout, {{0, 0, true}, {1, 0, true}, {2, 0, true}}));
  EXPECT_EQ(error.window, 1u);
  EXPECT_THAT(error.status,
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("window 1"), HasSubstr("every record is damaged"))));
  EXPECT_TRUE(error.needs_spare);
}

TEST_F(ReplacementTest, ASpareStandsForAWindowWithoutAGoodRecord) {
  MakeData({.holdout_threshold = uint32_t{1} << 30});
  for (Split split : {Split::kAll, Split::kTrain, Split::kHoldout}) {
    ExpectReplaced(WithSpare(split));
    ExpectReplaced(WithSpare(split, {{2, 0}, {2, 1}, {2, 2}, {2, 40, true}}));
  }
}

TEST_F(ReplacementTest, ASpareIsNotUsedWhereTheWindowHasAGoodRecord) {
  MakeData();
  Start();
  OpenWindow window = WithSpare(Split::kAll);
  window.damaged = {{0, 0, true}, {1, 3, true}};
  ExpectReplaced(window);
  window.chunks.pop_back();
  window.has_spare = false;
  ExpectReplaced(window);
}

TEST_F(ReplacementTest, ASpareWithoutAGoodRecordIsNotEnough) {
  MakeData({.holdout_threshold = uint32_t{1} << 30});
  const StreamError lost = OpenAndFail(WithSpare(Split::kTrain, {{2, 0, true}}));
  EXPECT_TRUE(absl::IsDataLoss(lost.status)) << lost.status;
  EXPECT_TRUE(lost.needs_spare);
  EXPECT_FALSE(lost.damage);
}

// All its good records are in the other split.
TEST_F(ReplacementTest, ASpareMustHaveAGoodRecordOfTheSplit) {
  MakeData({.holdout_threshold = uint32_t{1} << 30});
  OpenWindow window = WithSpare(Split::kHoldout);
  const ChunkRef& spare = window.chunks[2];
  for (uint32_t r = 0; r < spare.records; ++r) {
    if (data_->InHoldout(spare.ordinal + r)) window.damaged.push_back({2, r});
  }
  EXPECT_TRUE(OpenAndFail(window).needs_spare);
}

TEST_F(ReplacementTest, DamageInTheSpareIsNamed) {
  MakeData();
  DamagePayload(2, 7);
  const StreamError error = OpenAndFail(WithSpare(Split::kAll));
  EXPECT_FALSE(error.needs_spare);
  ASSERT_TRUE(error.damage) << error.status;
  EXPECT_EQ(error.damage->chunk_offset, data_->chunks()[2].offset);
  EXPECT_EQ(error.damage->record, 7u);
}

TEST_F(ReplacementTest, OneWindowWithTwoSparesIsTwoWindows) {
  MakeData();
  Start();
  Recorder client;
  auto session = Open(client, /*record_ids=*/true);  // As in ExpectReplaced(), so both may share.
  const OpenWindow first = WithSpare(Split::kAll);
  ASSERT_OK(session->OpenWindow(first));
  ASSERT_OK(session->Fetch(FetchAll(first, 1)));
  ASSERT_TRUE(client.WaitRows(1, first.rows));
  const uint64_t pinned = engine_->stats().pinned_bytes;
  OpenWindow second = first;
  second.chunks[2] = data_->chunks()[3];
  ExpectReplaced(second);
  // As rows of the window, not as a spare.
  OpenWindow third = data_->Window(1, {0, 1, 2}, Split::kAll, /*shuffle=*/true, /*key=*/5);
  third.damaged = first.damaged;
  ExpectReplaced(third);
  EXPECT_EQ(engine_->stats().pinned_bytes, pinned);
}

TEST_F(ReplacementTest, ASpareIsChargedToTheBudget) {
  MakeData();
  Start();
  const auto pinned_with = [this](const OpenWindow& window) {
    Recorder client;
    auto session = Open(client);
    EXPECT_OK(session->OpenWindow(window));
    EXPECT_OK(session->Fetch(FetchAll(window, 1)));
    EXPECT_TRUE(client.WaitRows(1, window.rows));
    return engine_->stats().pinned_bytes;
  };
  OpenWindow window = WithSpare(Split::kAll);
  window.damaged.clear();
  const uint64_t with = pinned_with(window);
  window.chunks.pop_back();
  window.has_spare = false;
  EXPECT_GT(with, pinned_with(window));
}

TEST_F(ReplacementTest, AFetchOfALostWindowEndsToo) {
  MakeData();
  Start();
  Recorder client;
  auto session = Open(client);
  const OpenWindow window = Window(Split::kAll, {{0, 0, true}, {1, 0, true}, {2, 0, true}});
  ASSERT_OK(session->OpenWindow(window));
  ASSERT_OK(session->Fetch(FetchAll(window, 1)));
  ASSERT_TRUE(client.WaitErrors(2));
  ASSERT_OK(session->Release(1));
  session.reset();
  EXPECT_EQ(engine_->stats().pinned_bytes, 0u);
}

TEST_F(ReplacementTest, RefusesAListOfRecordsThatAreNotThere) {
  MakeData();
  Start();
  Recorder client;
  auto session = Open(client);
  EXPECT_THAT(session->OpenWindow(Window(Split::kAll, {{3, 0}})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("record 0 of chunk 3")));
  EXPECT_THAT(session->OpenWindow(WithSpare(Split::kAll, {{3, 0}})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("record 0 of chunk 3")));
  EXPECT_THAT(session->OpenWindow(Window(Split::kAll, {{1, 50}})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("record 50 of chunk 1")));
}

}  // namespace
}  // namespace penstock
