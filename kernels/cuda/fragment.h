// Products of 16x16 by 16x8 tiles, one per warp. bf16 runs on the tensor cores. float runs on the
// float units in the same arrangement, so that one tile loop serves both.
//
// With g = lane / 4 and t = lane % 4, a lane holds these elements:
// - left operand (16x16): the pairs of columns 2t + 8 (i / 2) of row g + 8 (i % 2), i = 0..3;
// - right operand (16x8): the pairs of rows 2t + 8 i of column g, i = 0, 1;
// - sum (16x8): c[i] at row g + 8 (i / 2), column 2t + i % 2, i = 0..3.
#ifndef PENSTOCK_KERNELS_CUDA_FRAGMENT_H_
#define PENSTOCK_KERNELS_CUDA_FRAGMENT_H_

#include <cstdint>

#include "kernels/numeric/bf16.h"
#include "kernels/simt/simt.h"

namespace penstock::cuda {

template <typename T>
struct Left;
template <>
struct Left<Bf16> {
  uint32_t pairs[4];
};
template <>
struct Left<float> {
  float values[8];
};

template <typename T>
struct Right;
template <>
struct Right<Bf16> {
  uint32_t pairs[2];
};
template <>
struct Right<float> {
  float values[4];
};

// A 16x16 sum: two 16x8 sums, side by side.
struct Square {
  float c[2][4];
};

PENSTOCK_DEVICE unsigned Lane() { return simt::Thread() % simt::kWarp; }
// Row and column of element i of a lane's part of a 16x8 sum.
PENSTOCK_DEVICE unsigned RowOf(int i) { return Lane() / 4 + (i >= 2 ? 8 : 0); }
PENSTOCK_DEVICE unsigned ColumnOf(int i) { return Lane() % 4 * 2 + i % 2; }

// Loads rows [0, 16) and columns [0, 16) of `tile` in shared memory; rows are `stride` apart.
PENSTOCK_DEVICE void LoadLeft(const Bf16* tile, unsigned stride, Left<Bf16>& a) {
  simt::LoadMatrices(a.pairs, tile + Lane() % 16 * stride + Lane() / 16 * 8);
}

// Loads a left operand from a tile that holds it transposed.
PENSTOCK_DEVICE void LoadLeftTransposed(const Bf16* tile, unsigned stride, Left<Bf16>& a) {
  simt::LoadMatricesTransposed(a.pairs,
                               tile + (Lane() / 16 * 8 + Lane() % 8) * stride + Lane() / 8 % 2 * 8);
}

// Stores a left operand where LoadLeft() would load it.
PENSTOCK_DEVICE void StoreLeft(const Left<Bf16>& a, Bf16* tile, unsigned stride) {
  PENSTOCK_UNROLL for (int i = 0; i < 4; ++i) {
    const unsigned row = Lane() / 4 + i % 2 * 8, column = Lane() % 4 * 2 + i / 2 * 8;
    *reinterpret_cast<uint32_t*>(tile + row * stride + column) = a.pairs[i];
  }
}

// Does the same as LoadLeft() from any memory. Only `rows` rows exist; the others read as zeros.
PENSTOCK_DEVICE void LoadLeft(const float* tile, unsigned stride, unsigned rows, Left<float>& a) {
  PENSTOCK_UNROLL for (int i = 0; i < 8; ++i) {
    const unsigned row = Lane() / 4 + i / 2 % 2 * 8, column = Lane() % 4 * 2 + i % 2 + i / 4 * 8;
    a.values[i] = row < rows ? tile[row * stride + column] : 0.0f;
  }
}

// Loads two right operands, side by side, from `tile` (16 columns of the operand, 16 rows): the
// tile holds the operand transposed, as keys are stored relative to queries.
PENSTOCK_DEVICE void LoadRightTransposed(const Bf16* tile, unsigned stride, Right<Bf16> (&b)[2]) {
  uint32_t r[4];
  simt::LoadMatrices(r, tile + (Lane() / 16 * 8 + Lane() % 8) * stride + Lane() / 8 % 2 * 8);
  b[0] = {{r[0], r[1]}};
  b[1] = {{r[2], r[3]}};
}
PENSTOCK_DEVICE void LoadRightTransposed(const float* tile, unsigned stride, Right<float> (&b)[2]) {
  PENSTOCK_UNROLL for (int i = 0; i < 4; ++i) {
    const unsigned row = Lane() % 4 * 2 + i % 2 + i / 2 * 8, column = Lane() / 4;
    b[0].values[i] = tile[column * stride + row];
    b[1].values[i] = tile[(column + 8) * stride + row];
  }
}

// Loads two right operands, side by side, from `tile` (16 rows, 16 columns).
PENSTOCK_DEVICE void LoadRight(const Bf16* tile, unsigned stride, Right<Bf16> (&b)[2]) {
  uint32_t r[4];
  simt::LoadMatricesTransposed(r,
                               tile + (Lane() / 8 % 2 * 8 + Lane() % 8) * stride + Lane() / 16 * 8);
  b[0] = {{r[0], r[1]}};
  b[1] = {{r[2], r[3]}};
}
PENSTOCK_DEVICE void LoadRight(const float* tile, unsigned stride, Right<float> (&b)[2]) {
  PENSTOCK_UNROLL for (int i = 0; i < 4; ++i) {
    const unsigned row = Lane() % 4 * 2 + i % 2 + i / 2 * 8, column = Lane() / 4;
    b[0].values[i] = tile[row * stride + column];
    b[1].values[i] = tile[row * stride + column + 8];
  }
}

// Turns a sum into a left operand.
PENSTOCK_DEVICE void ToLeft(const Square& s, Left<Bf16>& a) {
  a.pairs[0] = PackBf16(s.c[0][0], s.c[0][1]);
  a.pairs[1] = PackBf16(s.c[0][2], s.c[0][3]);
  a.pairs[2] = PackBf16(s.c[1][0], s.c[1][1]);
  a.pairs[3] = PackBf16(s.c[1][2], s.c[1][3]);
}
PENSTOCK_DEVICE void ToLeft(const Square& s, Left<float>& a) {
  PENSTOCK_UNROLL for (int i = 0; i < 8; ++i) a.values[i] = s.c[i / 4][i % 4];
}

// c += a b.
PENSTOCK_DEVICE void Multiply(const Left<Bf16>& a, const Right<Bf16>& b, float (&c)[4]) {
  simt::MmaBf16(c, a.pairs, b.pairs);
}
PENSTOCK_DEVICE void Multiply(const Left<float>& a, const Right<float>& b, float (&c)[4]) {
  const unsigned g = Lane() / 4, t = Lane() % 4;
  PENSTOCK_UNROLL for (unsigned k = 0; k < 16; ++k) {
    // The lane that holds column k of the left operand and row k of the right one, and the position
    // there.
    const unsigned owner = k % 8 / 2, i = k / 8, e = k % 2;
    const float above = simt::Shuffle(a.values[4 * i + e], 4 * g + owner);
    const float below = simt::Shuffle(a.values[4 * i + 2 + e], 4 * g + owner);
    const float left = simt::Shuffle(b.values[2 * i + e], 4 * (2 * t) + owner);
    const float right = simt::Shuffle(b.values[2 * i + e], 4 * (2 * t + 1) + owner);
    c[0] += above * left;
    c[1] += above * right;
    c[2] += below * left;
    c[3] += below * right;
  }
}

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_FRAGMENT_H_
