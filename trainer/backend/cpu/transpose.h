// Transposes blocks of floats.
#ifndef PENSTOCK_TRAINER_BACKEND_CPU_TRANSPOSE_H_
#define PENSTOCK_TRAINER_BACKEND_CPU_TRANSPOSE_H_

#include <cstddef>

#include "trainer/backend/cpu/vector.h"

namespace penstock::cpu {

// Block() transposes a square block at `from` (row stride `stride`) with as many rows as V has
// lanes, multiplies it by `scale`, and writes it to `to` (row stride `to_stride`). It exchanges
// halves, then quarters and so on of the block, down to single floats.
template <typename V>
struct Transposer;

template <>
struct Transposer<Vec4> {
  static PENSTOCK_INLINE void Block(const float* from, ptrdiff_t stride, float scale, float* to,
                                    ptrdiff_t to_stride) {
    Vec4 r[4];
    PENSTOCK_UNROLL for (int i = 0; i < 4; ++i) {
      Load(from + i * stride, r[i]);
      r[i] *= scale;
    }
    PENSTOCK_UNROLL for (int i = 0; i < 2; ++i) {
      const int j = i;
      const Vec4 a = r[j], b = r[j + 2];
      r[j] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
      r[j + 2] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    }
    PENSTOCK_UNROLL for (int i = 0; i < 2; ++i) {
      const int j = i * 2;
      const Vec4 a = r[j], b = r[j + 1];
      r[j] = __builtin_shufflevector(a, b, 0, 4, 2, 6);
      r[j + 1] = __builtin_shufflevector(a, b, 1, 5, 3, 7);
    }
    PENSTOCK_UNROLL for (int i = 0; i < 4; ++i) Store(r[i], to + i * to_stride);
  }
};

template <>
struct Transposer<Vec8> {
  static PENSTOCK_INLINE void Block(const float* from, ptrdiff_t stride, float scale, float* to,
                                    ptrdiff_t to_stride) {
    Vec8 r[8];
    PENSTOCK_UNROLL for (int i = 0; i < 8; ++i) {
      Load(from + i * stride, r[i]);
      r[i] *= scale;
    }
    PENSTOCK_UNROLL for (int i = 0; i < 4; ++i) {
      const int j = i;
      const Vec8 a = r[j], b = r[j + 4];
      r[j] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
      r[j + 4] = __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
    }
    PENSTOCK_UNROLL for (int i = 0; i < 4; ++i) {
      const int j = i / 2 * 4 + i % 2;
      const Vec8 a = r[j], b = r[j + 2];
      r[j] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
      r[j + 2] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    }
    PENSTOCK_UNROLL for (int i = 0; i < 4; ++i) {
      const int j = i * 2;
      const Vec8 a = r[j], b = r[j + 1];
      r[j] = __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14);
      r[j + 1] = __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
    }
    PENSTOCK_UNROLL for (int i = 0; i < 8; ++i) Store(r[i], to + i * to_stride);
  }
};

template <>
struct Transposer<Vec16> {
  static PENSTOCK_INLINE void Block(const float* from, ptrdiff_t stride, float scale, float* to,
                                    ptrdiff_t to_stride) {
    Vec16 r[16];
    PENSTOCK_UNROLL for (int i = 0; i < 16; ++i) {
      Load(from + i * stride, r[i]);
      r[i] *= scale;
    }
    PENSTOCK_UNROLL for (int i = 0; i < 8; ++i) {
      const int j = i;
      const Vec16 a = r[j], b = r[j + 8];
      r[j] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
      r[j + 8] = __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29,
                                         30, 31);
    }
    PENSTOCK_UNROLL for (int i = 0; i < 8; ++i) {
      const int j = i / 4 * 8 + i % 4;
      const Vec16 a = r[j], b = r[j + 4];
      r[j] =
          __builtin_shufflevector(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27);
      r[j + 4] =
          __builtin_shufflevector(a, b, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31);
    }
    PENSTOCK_UNROLL for (int i = 0; i < 8; ++i) {
      const int j = i / 2 * 4 + i % 2;
      const Vec16 a = r[j], b = r[j + 2];
      r[j] =
          __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
      r[j + 2] =
          __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
    }
    PENSTOCK_UNROLL for (int i = 0; i < 8; ++i) {
      const int j = i * 2;
      const Vec16 a = r[j], b = r[j + 1];
      r[j] =
          __builtin_shufflevector(a, b, 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30);
      r[j + 1] =
          __builtin_shufflevector(a, b, 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31);
    }
    PENSTOCK_UNROLL for (int i = 0; i < 16; ++i) Store(r[i], to + i * to_stride);
  }
};

template <typename H>
struct Transposer<Pair<H>> {
  static PENSTOCK_INLINE void Block(const float* from, ptrdiff_t stride, float scale, float* to,
                                    ptrdiff_t to_stride) {
    constexpr int kHalf = kLanesOf<H>;
    PENSTOCK_UNROLL for (int i = 0; i < 2; ++i) {
      PENSTOCK_UNROLL for (int j = 0; j < 2; ++j) {
        Transposer<H>::Block(from + i * kHalf * stride + j * kHalf, stride, scale,
                             to + j * kHalf * to_stride + i * kHalf, to_stride);
      }
    }
  }
};

}  // namespace penstock::cpu

#endif  // PENSTOCK_TRAINER_BACKEND_CPU_TRANSPOSE_H_
