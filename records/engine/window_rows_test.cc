#include "records/engine/window_rows.h"

#include <utility>

#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

// Every 20th record is held out.
Chunk MakeChunk(PageMemory& memory, uint32_t records, size_t row_bytes) {
  Chunk chunk(memory, records, row_bytes, 0);
  for (uint32_t r = 0; r < records; r += 20) chunk.SetHoldout(r);
  return chunk;
}

TEST(WindowRowsTest, TakesNoMoreMemoryThanTheBudgetCounts) {
  constexpr size_t kRowBytes = 8;
  PageMemory memory(0, 0);
  const Chunk chunk = MakeChunk(memory, 1000, kRowBytes);
  const WindowChunk chunks[] = {{&chunk, 0}, {&chunk, 1000}};
  for (const auto& [split, size] : {std::pair(Split::kAll, 2000u), std::pair(Split::kTrain, 1900u),
                                    std::pair(Split::kHoldout, 100u)}) {
    for (const bool shuffle : {false, true}) {
      const auto rows = WindowRows::Build(chunks, nullptr, kRowBytes, {split, shuffle, 1}, true);
      ASSERT_OK(rows.status());
      EXPECT_EQ(rows->size(), size);
      EXPECT_EQ(rows->bytes(), WindowRows::Bytes(size, true));
    }
  }
}

}  // namespace
}  // namespace penstock
