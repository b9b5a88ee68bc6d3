// Sixteen floats as one value, lowered by the compiler to what the calling function's target has.
// Everything is always inlined and passes vectors by reference: a vector as a parameter would
// have a calling convention that depends on the target.
#ifndef PENSTOCK_TRAINER_BACKEND_CPU_VECTOR_H_
#define PENSTOCK_TRAINER_BACKEND_CPU_VECTOR_H_

#include <cstddef>
#include <cstdint>

#define PENSTOCK_INLINE inline __attribute__((always_inline))
#ifdef __clang__
#define PENSTOCK_UNROLL _Pragma("unroll")
#else
#define PENSTOCK_UNROLL _Pragma("GCC unroll 16")
#endif

namespace penstock::cpu {

inline constexpr int kLanes = 16;

typedef float Vec __attribute__((vector_size(64)));
typedef uint32_t UintVec __attribute__((vector_size(64)));
typedef float UnalignedVec __attribute__((vector_size(64), aligned(4), may_alias));

PENSTOCK_INLINE void Load(const float* from, Vec& v) {
  v = *reinterpret_cast<const UnalignedVec*>(from);
}
PENSTOCK_INLINE void Store(const Vec& v, float* to) { *reinterpret_cast<UnalignedVec*>(to) = v; }

PENSTOCK_INLINE float Sum(const Vec& v) {
  Vec x = v;
  x += __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
  x += __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
  x += __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
  return x[0];
}

// x = e^x within 2 units in the last place for |x| <= 87; beyond, as at 87. NaN stays NaN.
// Cephes' expf polynomial; the power of two comes from the mantissa of x * log2(e) + 1.5 * 2^23.
PENSTOCK_INLINE void Exp(Vec& x) {
  constexpr float kRound = 12582912.0f;
  const Vec low = Vec{} - 87.0f, high = Vec{} + 87.0f;
  x = x < low ? low : x;
  x = x > high ? high : x;
  const Vec shifted = x * 1.44269504088896341f + kRound;
  const Vec n = shifted - kRound;
  Vec r = x - n * 0.693359375f;
  r = r + n * 2.12194440e-4f;
  Vec p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + (r + 1.0f);
  x = reinterpret_cast<Vec>(reinterpret_cast<UintVec>(p) +
                            (reinterpret_cast<UintVec>(shifted) << 23));
}

// The 16 x 16 block at `from` (row stride `stride`), times `scale`, to `to` (row stride
// `to_stride`) with rows and columns exchanged: blocks of 8, 4, 2, 1 change places.
PENSTOCK_INLINE void TransposeBlock(const float* from, ptrdiff_t stride, float scale, float* to,
                                    ptrdiff_t to_stride) {
  Vec r[16];
  PENSTOCK_UNROLL for (int i = 0; i < 16; ++i) {
    Load(from + i * stride, r[i]);
    r[i] *= scale;
  }
  PENSTOCK_UNROLL for (int i = 0; i < 8; ++i) {
    const Vec a = r[i], b = r[i + 8];
    r[i] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
    r[i + 8] =
        __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
  }
  PENSTOCK_UNROLL for (int i = 0; i < 8; ++i) {
    const int j = i / 4 * 8 + i % 4;
    const Vec a = r[j], b = r[j + 4];
    r[j] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27);
    r[j + 4] =
        __builtin_shufflevector(a, b, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31);
  }
  PENSTOCK_UNROLL for (int i = 0; i < 8; ++i) {
    const int j = i / 2 * 4 + i % 2;
    const Vec a = r[j], b = r[j + 2];
    r[j] = __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
    r[j + 2] =
        __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
  }
  PENSTOCK_UNROLL for (int i = 0; i < 8; ++i) {
    const int j = i * 2;
    const Vec a = r[j], b = r[j + 1];
    r[j] = __builtin_shufflevector(a, b, 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30);
    r[j + 1] =
        __builtin_shufflevector(a, b, 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31);
  }
  PENSTOCK_UNROLL for (int i = 0; i < 16; ++i) Store(r[i], to + i * to_stride);
}

// c (kRows, 16 * kVecs; row stride c_stride) = a (kRows, depth) b (depth, 16 * kVecs), where
// a(r, k) is a[r * a_row + k * a_depth]; kept in kRows * kVecs registers.
template <int kRows, int kVecs>
PENSTOCK_INLINE void MultiplyTile(const float* a, ptrdiff_t a_row, ptrdiff_t a_depth, int depth,
                                  const float* b, ptrdiff_t b_stride, float* c,
                                  ptrdiff_t c_stride) {
  Vec sum[kRows][kVecs];
  PENSTOCK_UNROLL for (int r = 0; r < kRows; ++r) {
    PENSTOCK_UNROLL for (int n = 0; n < kVecs; ++n) sum[r][n] = Vec{};
  }
  for (int k = 0; k < depth; ++k) {
    Vec row[kVecs];
    PENSTOCK_UNROLL for (int n = 0; n < kVecs; ++n) Load(b + k * b_stride + n * kLanes, row[n]);
    PENSTOCK_UNROLL for (int r = 0; r < kRows; ++r) {
      const float factor = a[r * a_row + k * a_depth];
      PENSTOCK_UNROLL for (int n = 0; n < kVecs; ++n) sum[r][n] += factor * row[n];
    }
  }
  PENSTOCK_UNROLL for (int r = 0; r < kRows; ++r) {
    PENSTOCK_UNROLL for (int n = 0; n < kVecs; ++n) Store(sum[r][n], c + r * c_stride + n * kLanes);
  }
}

// MultiplyTile over 64 rows. kRegisters: how many Vec sums the target can hold.
template <int kRegisters, int kVecs>
PENSTOCK_INLINE void Multiply64(const float* a, ptrdiff_t a_row, ptrdiff_t a_depth, int depth,
                                const float* b, ptrdiff_t b_stride, float* c, ptrdiff_t c_stride) {
  constexpr int kRows = kRegisters / kVecs;
  static_assert(kRows > 0 && 64 % kRows == 0);
  for (int row = 0; row < 64; row += kRows) {
    MultiplyTile<kRows, kVecs>(a + row * a_row, a_row, a_depth, depth, b, b_stride,
                               c + row * c_stride, c_stride);
  }
}

}  // namespace penstock::cpu

#endif  // PENSTOCK_TRAINER_BACKEND_CPU_VECTOR_H_
