#include "kernels/cuda/geometry.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "gtest/gtest.h"
#include "kernels/cuda/attention_geometry.h"
#include "kernels/numeric/bf16.h"

namespace penstock::cuda {
namespace {

TEST(GeometryTest, BlocksCoverTheItemsUpToTheirLimit) {
  EXPECT_EQ(BlocksFor(0), 0u);
  EXPECT_EQ(BlocksFor(1), 1u);
  EXPECT_EQ(BlocksFor(kThreads), 1u);
  EXPECT_EQ(BlocksFor(kThreads + 1), 2u);
  EXPECT_EQ(BlocksFor(kThreads * kMostBlocks), kMostBlocks);
  EXPECT_EQ(BlocksFor(size_t{1} << 50), kMostBlocks);
}

TEST(GeometryTest, PartsCutRowsWithoutGapsOrOverlap) {
  for (size_t rows : {size_t{0}, size_t{1}, size_t{31}, size_t{33}, size_t{1000}, size_t{8191},
                      size_t{16384} * 64, (size_t{1} << 40) + 7}) {
    const unsigned parts = PartsOf(rows);
    ASSERT_GE(parts, 1u);
    ASSERT_LE(parts, kMostParts);
    EXPECT_EQ(FirstOf(rows, parts, 0), 0u);
    EXPECT_EQ(FirstOf(rows, parts, parts), rows);
    for (unsigned p = 0; p < parts; ++p) {
      const size_t size = FirstOf(rows, parts, p + 1) - FirstOf(rows, parts, p);
      EXPECT_GE(size, rows / parts) << rows << " rows, part " << p;
      EXPECT_LE(size, rows / parts + 1) << rows << " rows, part " << p;
    }
  }
}

TEST(GeometryTest, PartsOfManyColumnsAreFewer) {
  EXPECT_EQ(PartsOf(1 << 20, 1), kMostParts);
  EXPECT_EQ(PartsOf(1 << 20, 1 << 15), 32u);
  EXPECT_EQ(PartsOf(1 << 20, size_t{1} << 40), 1u);
  EXPECT_EQ(PartsOf(0, 0), 1u);
}

TEST(GeometryTest, ShortRowsShareAWarp) {
  for (size_t vectors : {1, 8}) EXPECT_EQ(LanesFor(vectors), 8u);
  for (size_t vectors : {9, 16}) EXPECT_EQ(LanesFor(vectors), 16u);
  for (size_t vectors : {size_t{17}, size_t{1} << 40}) EXPECT_EQ(LanesFor(vectors), 32u);
}

TEST(GeometryTest, NormRowsFitTheirLanes) {
  for (size_t vector : {4, 8}) {
    for (size_t dim = vector; dim <= kMostNormColumns; dim += vector) {
      const RowLayout layout = NormLayout(dim, vector);
      EXPECT_GE(layout.lanes * layout.chunks * vector, dim);
      EXPECT_LE(layout.chunks, 32 / vector) << "at most 32 values a lane";
      EXPECT_TRUE(layout.chunks == 1 || layout.lanes == 32);
    }
    EXPECT_EQ(NormLayout(0, vector).chunks, 0u);
    EXPECT_EQ(NormLayout(vector + 1, vector).chunks, 0u);
    EXPECT_EQ(NormLayout(kMostNormColumns + vector, vector).chunks, 0u);
    EXPECT_EQ(NormLayout(std::numeric_limits<size_t>::max(), vector).chunks, 0u);
  }
}

TEST(GeometryTest, AttentionWarpsTakeAllTilesInTheFewestRounds) {
  for (unsigned tokens = 1; tokens <= kMostTokens; ++tokens) {
    const unsigned warps = AttentionWarps(tokens), tiles = TilesOf(tokens);
    ASSERT_GE(warps, 1u);
    ASSERT_LE(warps, kMostAttentionWarps);
    EXPECT_EQ((tiles + warps - 1) / warps, (tiles + 7) / 8) << tokens;
    EXPECT_GE(tiles * kTile, tokens);
  }
  EXPECT_EQ(AttentionWarps(kBiasTokens), TilesOf(kBiasTokens))
      << "a tile of the bias is one warp's";
}

TEST(GeometryTest, AttentionFitsSharedMemory) {
  constexpr unsigned kMost = 227 * 1024;  // Bytes of shared memory per block, on sm_90.
  for (unsigned dim : {16u, 32u, 64u}) {
    for (unsigned tokens = 1; tokens <= kMostTokens; ++tokens) {
      EXPECT_LE(ForwardShared<Bf16>(tokens, dim), kMost / 2);
      EXPECT_LE(ForwardShared<float>(tokens, dim), kMost);
      EXPECT_LE(BackwardShared<Bf16>(tokens, dim), kMost);
      EXPECT_LE(BackwardShared<float>(tokens, dim), kMost);
    }
    EXPECT_LE(BackwardShared<float>(kBiasTokens, dim) + kBiasShared, kMost);
    // Eight rows begin in different banks of 16 bytes.
    EXPECT_EQ(RowStride<Bf16>(dim) * 2 / 16 % 2, 1u);
    EXPECT_EQ(RowStride<float>(dim) * 4 / 16 % 2, 1u);
  }
}

// The backward of boards has as many blocks on a multiprocessor of sm_90 as registers allow.
TEST(GeometryTest, BlocksOfBoardsFitAMultiprocessor) {
  constexpr unsigned kMultiprocessor = 228 * 1024, kReserved = 1024;  // kReserved for each block.
  auto blocks = [](unsigned dim, unsigned bias) {
    return kMultiprocessor / (BackwardShared<Bf16>(64, dim) + bias + kReserved);
  };
  for (unsigned dim : {16u, 32u}) {
    EXPECT_GE(blocks(dim, 0), 5u);
    EXPECT_GE(blocks(dim, kBiasShared), 4u);
  }
  EXPECT_GE(blocks(64, 0), 4u);
  EXPECT_GE(blocks(64, kBiasShared), 3u);
}

TEST(GeometryTest, PairsOfEightRowsOfScoresAreInDifferentBanks) {
  EXPECT_EQ(RowStride<Bf16>(kFixedTokens) / 2 % 32, 4u) << "four lanes store pairs of one row";
}

// The most tokens, forward and backward, whose launches need no more than `most` bytes.
template <typename T>
std::pair<unsigned, unsigned> LongestIn(unsigned most, unsigned dim) {
  std::pair<unsigned, unsigned> longest;
  for (unsigned tokens = 1; tokens <= kMostTokens; ++tokens) {
    if (ForwardShared<T>(tokens, dim) <= most) longest.first = tokens;
    if (BackwardShared<T>(tokens, dim) <= most) longest.second = tokens;
  }
  return longest;
}

// A block has 163 KiB on sm_80 and sm_87, 99 KiB on sm_86, sm_89 and sm_120.
TEST(GeometryTest, SmallerBlocksHaveShorterAttention) {
  constexpr unsigned kA100 = 163 * 1024, kSmall = 99 * 1024;
  const std::pair all(kMostTokens, kMostTokens);
  for (unsigned dim : {16u, 32u}) {
    EXPECT_EQ(LongestIn<Bf16>(kSmall, dim), all);
    EXPECT_EQ(LongestIn<float>(kA100, dim), all);
  }
  EXPECT_EQ(LongestIn<float>(kSmall, 16), all);
  EXPECT_EQ(LongestIn<float>(kSmall, 32), std::pair(224u, 256u));
  EXPECT_EQ(LongestIn<Bf16>(kA100, 64), std::pair(256u, 240u));
  EXPECT_EQ(LongestIn<float>(kA100, 64), std::pair(192u, 224u));
  EXPECT_EQ(LongestIn<Bf16>(kSmall, 64), std::pair(224u, 144u));
  EXPECT_EQ(LongestIn<float>(kSmall, 64), std::pair(112u, 144u));
  for (unsigned dim : {16u, 32u, 64u}) {
    EXPECT_LE(BackwardShared<Bf16>(kBiasTokens, dim) + kBiasShared, kSmall);
    EXPECT_LE(BackwardShared<float>(kBiasTokens, dim) + kBiasShared, kSmall);
  }
}

TEST(GeometryTest, BiasPartsHaveSeveralSamples) {
  EXPECT_EQ(BiasParts(0, 1), 1u);
  EXPECT_EQ(BiasParts(3, 1), 1u);
  EXPECT_EQ(BiasParts(9, 1), 2u);
  EXPECT_EQ(BiasParts(size_t{1} << 40, 16), kBiasBlocks / 16);
  EXPECT_EQ(BiasParts(100, size_t{1} << 40), 1u);
}

}  // namespace
}  // namespace penstock::cuda
