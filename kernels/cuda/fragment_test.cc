// The registers of ldmatrix and mma.m16n8k16 against the PTX ISA. The layouts below are typed from
// its sections "Matrix Fragments for mma.m16n8k16 with floating point type" and "Warp-level matrix
// load instruction: ldmatrix" (9.7.14.5.8 and 9.7.14.5.15 in version 9.0), with its names, and take
// nothing from fragment.h or from the emulation. cuda_device.h maps register n of an instruction to
// element n of its array.
#include "kernels/cuda/fragment.h"

#include <functional>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/numeric/bf16.h"
#include "kernels/simt/simt.h"

namespace penstock::cuda {
namespace {

struct Element {
  unsigned row, col;
};

unsigned GroupId(unsigned laneid) { return laneid >> 2; }
unsigned ThreadIdInGroup(unsigned laneid) { return laneid % 4; }

// Element ai of multiplicand A (16x16), i = 0..7. Registers hold two, low to high: {a0, a1}, {a2,
// a3}, {a4, a5}, {a6, a7}.
Element PtxA(unsigned laneid, unsigned i) {
  const unsigned row = i < 2 || (4 <= i && i < 6) ? GroupId(laneid) : GroupId(laneid) + 8;
  const unsigned col =
      i < 4 ? ThreadIdInGroup(laneid) * 2 + (i & 0x1) : ThreadIdInGroup(laneid) * 2 + (i & 0x1) + 8;
  return {row, col};
}

// Element bi of multiplicand B (16x8), i = 0..3, in registers {b0, b1}, {b2, b3}.
Element PtxB(unsigned laneid, unsigned i) {
  const unsigned row =
      i < 2 ? ThreadIdInGroup(laneid) * 2 + (i & 0x1) : ThreadIdInGroup(laneid) * 2 + (i & 0x1) + 8;
  return {row, GroupId(laneid)};
}

// Element ci of the accumulators C and D (16x8), i = 0..3, a register each.
Element PtxC(unsigned laneid, unsigned i) {
  const unsigned row = i < 2 ? GroupId(laneid) : GroupId(laneid) + 8;
  return {row, ThreadIdInGroup(laneid) * 2 + (i & 0x1)};
}

// ldmatrix, figure "fragment layout for one 8x8 Matrix with 16-bit elements": the threads whose
// register holds row 0 .. 7 of the matrix, two elements each, low to high.
constexpr unsigned kLdmatrixThreads[8][4] = {{0, 1, 2, 3},     {4, 5, 6, 7},     {8, 9, 10, 11},
                                             {12, 13, 14, 15}, {16, 17, 18, 19}, {20, 21, 22, 23},
                                             {24, 25, 26, 27}, {28, 29, 30, 31}};

// Returns a value that shows its place in a tile of 16 columns.
uint16_t Mark(Element e) { return static_cast<uint16_t>(100 + e.row * 16 + e.col); }

Element Transposed(Element e) { return {e.col, e.row}; }

uint16_t Half(uint32_t pair, unsigned i) { return static_cast<uint16_t>(pair >> (16 * (i % 2))); }

// Runs `lane` in a warp whose shared memory begins with a marked 16x16 tile of T.
template <typename T>
struct WarpOnTile {
  std::function<void(const T* tile)> lane;
};
template <typename T>
void WarpKernel(const WarpOnTile<T>* run) {
  T* tile = reinterpret_cast<T*>(simt::Shared());
  for (unsigned i = Lane(); i < 256; i += simt::kWarp) {
    const uint16_t mark = Mark({i / 16, i % 16});
    if constexpr (sizeof(T) == 2) {
      tile[i] = T{mark};
    } else {
      tile[i] = T(mark);
    }
  }
  simt::SyncWarp();
  run->lane(tile);
}
template <typename T>
void RunWarp(std::function<void(const T* tile)> lane) {
  const WarpOnTile<T> run{std::move(lane)};
  ASSERT_EQ(simt::Launch(WarpKernel<T>, {.threads = simt::kWarp, .shared = 256 * sizeof(T)},
                         nullptr, &run),
            cudaSuccess);
}

TEST(PtxFragmentTest, LdmatrixGivesEachThreadItsPair) {
  std::vector<uint32_t> plain(4 * simt::kWarp), transposed(4 * simt::kWarp);
  RunWarp<Bf16>([&](const Bf16* tile) {
    // Threads 8m to 8m + 7 give the rows of matrix m: here, in the order of the tile's quarters.
    const unsigned m = Lane() / 8, row = Lane() % 8;
    const Bf16* address = tile + (m / 2 * 8 + row) * 16 + m % 2 * 8;
    uint32_t r[4];
    simt::LoadMatrices(r, address);
    for (unsigned i = 0; i < 4; ++i) plain[4 * Lane() + i] = r[i];
    simt::LoadMatricesTransposed(r, address);
    for (unsigned i = 0; i < 4; ++i) transposed[4 * Lane() + i] = r[i];
  });
  for (unsigned m = 0; m < 4; ++m) {
    for (unsigned row = 0; row < 8; ++row) {
      for (unsigned col = 0; col < 8; ++col) {
        const unsigned thread = kLdmatrixThreads[row][col / 2];
        const Element first{m / 2 * 8, m % 2 * 8};
        EXPECT_EQ(Half(plain[4 * thread + m], col), Mark({first.row + row, first.col + col}));
        EXPECT_EQ(Half(transposed[4 * thread + m], col), Mark({first.row + col, first.col + row}));
      }
    }
  }
}

// Products and sums of these are exact in bf16 and float. No two rows or columns are alike.
float ValueA(unsigned m, unsigned k) { return float((m * 7 + k * 5 + m * k) % 23) - 11; }
float ValueB(unsigned k, unsigned n) { return float((k * 11 + n * 3 + k * k * n) % 19) - 9; }
float ValueC(unsigned m, unsigned n) { return float(m * 8 + n); }

TEST(PtxFragmentTest, MmaTakesAndGivesElementsAsPtxPlacesThem) {
  std::vector<float> d(4 * simt::kWarp);
  RunWarp<Bf16>([&](const Bf16*) {
    auto a_value = [](unsigned i) {
      const Element e = PtxA(Lane(), i);
      return ValueA(e.row, e.col);
    };
    auto b_value = [](unsigned i) {
      const Element e = PtxB(Lane(), i);
      return ValueB(e.row, e.col);
    };
    uint32_t a[4], b[2];
    float c[4];
    for (unsigned i = 0; i < 4; ++i) a[i] = PackBf16(a_value(2 * i), a_value(2 * i + 1));
    for (unsigned i = 0; i < 2; ++i) b[i] = PackBf16(b_value(2 * i), b_value(2 * i + 1));
    for (unsigned i = 0; i < 4; ++i) c[i] = ValueC(PtxC(Lane(), i).row, PtxC(Lane(), i).col);
    simt::MmaBf16(c, a, b);
    for (unsigned i = 0; i < 4; ++i) d[4 * Lane() + i] = c[i];
  });
  for (unsigned lane = 0; lane < simt::kWarp; ++lane) {
    for (unsigned i = 0; i < 4; ++i) {
      const Element e = PtxC(lane, i);
      float sum = ValueC(e.row, e.col);
      for (unsigned k = 0; k < 16; ++k) sum += ValueA(e.row, k) * ValueB(k, e.col);
      EXPECT_EQ(d[4 * lane + i], sum) << "lane " << lane << ", c" << i;
    }
  }
}

TEST(PtxFragmentTest, LeftOperandsAreMultiplicandA) {
  RunWarp<Bf16>([](const Bf16* tile) {
    Left<Bf16> a;
    LoadLeft(tile, 16, a);
    for (unsigned i = 0; i < 8; ++i) EXPECT_EQ(Half(a.pairs[i / 2], i), Mark(PtxA(Lane(), i)));
  });
  RunWarp<float>([](const float* tile) {
    Left<float> a;
    LoadLeft(tile, 16, 16, a);
    for (unsigned i = 0; i < 8; ++i) EXPECT_EQ(a.values[i], Mark(PtxA(Lane(), i)));
  });
}

TEST(PtxFragmentTest, LeftOperandsOfATransposedTileAreMultiplicandA) {
  RunWarp<Bf16>([](const Bf16* tile) {
    Left<Bf16> a;
    LoadLeftTransposed(tile, 16, a);
    for (unsigned i = 0; i < 8; ++i) {
      EXPECT_EQ(Half(a.pairs[i / 2], i), Mark(Transposed(PtxA(Lane(), i))));
    }
  });
}

TEST(PtxFragmentTest, LeftOperandsAreStoredWhereTheyBelong) {
  constexpr unsigned kStride = 24;
  std::vector<Bf16> stored(16 * kStride);
  RunWarp<Bf16>([&](const Bf16*) {
    Left<Bf16> a;
    for (unsigned i = 0; i < 4; ++i) {
      a.pairs[i] = Mark(PtxA(Lane(), 2 * i)) | uint32_t{Mark(PtxA(Lane(), 2 * i + 1))} << 16;
    }
    StoreLeft(a, stored.data(), kStride);
  });
  for (unsigned i = 0; i < stored.size(); ++i) {
    const Element e{i / kStride, i % kStride};
    EXPECT_EQ(stored[i].bits, e.col < 16 ? Mark(e) : 0);
  }
}

TEST(PtxFragmentTest, LeftOperandsOfFewerRowsEndInZeros) {
  RunWarp<float>([](const float* tile) {
    Left<float> a;
    LoadLeft(tile, 16, 11, a);
    for (unsigned i = 0; i < 8; ++i) {
      const Element e = PtxA(Lane(), i);
      EXPECT_EQ(a.values[i], e.row < 11 ? Mark(e) : 0);
    }
  });
}

// The place of an element of the second operand: 8 columns to the right.
Element PtxB(unsigned laneid, unsigned i, unsigned operand) {
  const Element e = PtxB(laneid, i);
  return {e.row, e.col + 8 * operand};
}

TEST(PtxFragmentTest, RightOperandsAreMultiplicandB) {
  RunWarp<Bf16>([](const Bf16* tile) {
    Right<Bf16> b[2];
    LoadRight(tile, 16, b);
    for (unsigned i = 0; i < 8; ++i) {
      EXPECT_EQ(Half(b[i / 4].pairs[i % 4 / 2], i), Mark(PtxB(Lane(), i % 4, i / 4)));
    }
  });
  RunWarp<float>([](const float* tile) {
    Right<float> b[2];
    LoadRight(tile, 16, b);
    for (unsigned i = 0; i < 8; ++i) {
      EXPECT_EQ(b[i / 4].values[i % 4], Mark(PtxB(Lane(), i % 4, i / 4)));
    }
  });
}

TEST(PtxFragmentTest, RightOperandsOfATransposedTileAreMultiplicandB) {
  RunWarp<Bf16>([](const Bf16* tile) {
    Right<Bf16> b[2];
    LoadRightTransposed(tile, 16, b);
    for (unsigned i = 0; i < 8; ++i) {
      EXPECT_EQ(Half(b[i / 4].pairs[i % 4 / 2], i), Mark(Transposed(PtxB(Lane(), i % 4, i / 4))));
    }
  });
  RunWarp<float>([](const float* tile) {
    Right<float> b[2];
    LoadRightTransposed(tile, 16, b);
    for (unsigned i = 0; i < 8; ++i) {
      EXPECT_EQ(b[i / 4].values[i % 4], Mark(Transposed(PtxB(Lane(), i % 4, i / 4))));
    }
  });
}

TEST(PtxFragmentTest, SumsAreAccumulators) {
  RunWarp<float>([](const float*) {
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(RowOf(i), PtxC(Lane(), unsigned(i)).row);
      EXPECT_EQ(ColumnOf(i), PtxC(Lane(), unsigned(i)).col);
    }
  });
}

// Two accumulators side by side (16x16), with a value at each place, as a left operand.
TEST(PtxFragmentTest, ASquareBecomesMultiplicandA) {
  auto value = [](Element e) { return float(e.row * 16 + e.col); };  // Exact in bf16 up to 256.
  RunWarp<float>([&](const float*) {
    Square s;
    for (unsigned i = 0; i < 8; ++i) {
      const Element e = PtxC(Lane(), i % 4);
      s.c[i / 4][i % 4] = value({e.row, e.col + 8 * (i / 4)});
    }
    Left<Bf16> pairs;
    ToLeft(s, pairs);
    Left<float> floats;
    ToLeft(s, floats);
    for (unsigned i = 0; i < 8; ++i) {
      EXPECT_EQ(ToFloat(Bf16{Half(pairs.pairs[i / 2], i)}), value(PtxA(Lane(), i)));
      EXPECT_EQ(floats.values[i], value(PtxA(Lane(), i)));
    }
  });
}

}  // namespace
}  // namespace penstock::cuda
