#include "records/engine/chunk_store.h"

#include <memory>
#include <vector>

#include "gtest/gtest.h"

namespace penstock {
namespace {

constexpr uint64_t kLoneChunkBytes = 512 + 2;  // The record has no features; the shard is "s".

// A store with room for two chunks. Each window has one chunk.
class ChunkStoreTest : public ::testing::Test {
 protected:
  static OpenWindow Window(uint64_t chunk) {
    OpenWindow window;
    window.shards.push_back({.path = "s"});
    window.chunks.push_back({.offset = chunk, .size = 1, .records = 1});
    return window;
  }
  ChunkEntry& Pin(uint64_t chunk) {
    std::vector<ChunkEntry*> entries;
    store_.Pin(Window(chunk), layout_, /*table_bytes=*/0, entries);
    return *entries[0];
  }
  // Pins a chunk that a thread has begun to read.
  ChunkEntry& PinAndBegin(uint64_t chunk) {
    ChunkEntry& entry = Pin(chunk);
    entry.state = ChunkEntry::State::kLoading;
    return entry;
  }
  ChunkEntry& PinAndLoad(uint64_t chunk) {
    ChunkEntry& entry = PinAndBegin(chunk);
    store_.SetLoaded(entry, Chunk());
    return entry;
  }
  void Unpin(ChunkEntry& entry) {
    ChunkEntry* const entries[] = {&entry};
    store_.Unpin(entries, /*table_bytes=*/0);
  }

  ChunkStore store_{2 * kLoneChunkBytes};
  const std::shared_ptr<const ChunkLayout> layout_ =
      std::make_shared<const ChunkLayout>(std::span<const FeatureUse>(), "", 0);
};

TEST_F(ChunkStoreTest, TheOldestThatNobodyPinsGoesFirst) {
  for (const uint64_t chunk : {1, 2}) Unpin(PinAndLoad(chunk));
  Unpin(Pin(1));
  EXPECT_EQ(store_.stats().hits, 1u);
  Pin(3);
  EXPECT_EQ(store_.stats().evicted, 1u);
  EXPECT_EQ(store_.total_bytes(), 2 * kLoneChunkBytes);
  Pin(1);
  EXPECT_EQ(store_.stats().hits, 2u);
}

TEST_F(ChunkStoreTest, AChunkThatIsPinnedAgainStays) {
  Unpin(PinAndLoad(1));
  Pin(1);
  Unpin(PinAndLoad(2));
  Pin(3);  // Replaces 2, although 1 is older.
  Pin(1);
  EXPECT_EQ(store_.stats().hits, 2u);
  EXPECT_EQ(store_.pinned_bytes(), 2 * kLoneChunkBytes);
}

TEST_F(ChunkStoreTest, AChunkThatIsLoadedTooLateGoesAtOnce) {
  ChunkEntry& late = PinAndBegin(1);
  Unpin(late);
  for (const uint64_t chunk : {2, 3}) Pin(chunk);
  EXPECT_EQ(store_.total_bytes(), 3 * kLoneChunkBytes) << "what loads cannot go";
  store_.SetLoaded(late, Chunk());
  EXPECT_EQ(store_.total_bytes(), 2 * kLoneChunkBytes);
  EXPECT_EQ(store_.stats().evicted, 1u);
}

TEST_F(ChunkStoreTest, AChunkThatFailedIsLoadedAnewByTheNextWindow) {
  ChunkEntry& failed = PinAndBegin(1);
  store_.SetFailed(failed);
  ChunkEntry& again = Pin(1);
  EXPECT_NE(&again, &failed);
  EXPECT_EQ(again.state, ChunkEntry::State::kQueued);
  EXPECT_EQ(failed.state, ChunkEntry::State::kFailed);
  EXPECT_EQ(store_.total_bytes(), 2 * kLoneChunkBytes);
  Unpin(failed);
  EXPECT_EQ(store_.total_bytes(), kLoneChunkBytes);
}

TEST_F(ChunkStoreTest, AllThatIsUnpinnedAddsUp) {
  for (const uint64_t chunk : {1, 2}) Unpin(PinAndLoad(chunk));
  Unpin(Pin(1));
  EXPECT_EQ(store_.pinned_bytes(), 0u);
  EXPECT_EQ(store_.unpinned_bytes(), 3 * kLoneChunkBytes);
}

}  // namespace
}  // namespace penstock
