// Sixteen floats as one value, in as many registers as the target needs.
//
// The type is a vector of the target's own width, or a Pair of vectors of half the lanes, because
// compilers lower a vector wider than the registers through memory. All types give the same sums in
// the same order.
//
// Everything is always inlined, and vectors are passed by reference: the calling convention of a
// vector parameter would depend on the target.
#ifndef PENSTOCK_TRAINER_BACKEND_CPU_VECTOR_H_
#define PENSTOCK_TRAINER_BACKEND_CPU_VECTOR_H_

#include <cstddef>
#include <cstdint>

#define PENSTOCK_INLINE inline __attribute__((always_inline))
#ifndef __clang__
#define PENSTOCK_UNROLL _Pragma("GCC unroll 16")
#elif __has_feature(address_sanitizer)  // Otherwise each copy would be checked.
#define PENSTOCK_UNROLL
#else
#define PENSTOCK_UNROLL _Pragma("unroll")
#endif

namespace penstock::cpu {

inline constexpr int kLanes = 16;

typedef float Vec4 __attribute__((vector_size(16)));
typedef float Vec8 __attribute__((vector_size(32)));
typedef float Vec16 __attribute__((vector_size(64)));

template <typename Half>
struct Pair {
  Half low, high;
};

// kLanesOf<V>; and, for vectors of a target's own width, Bits<V> (integers with as many lanes) and
// Unaligned<V> (the same vector in memory).
template <typename V>
inline constexpr int kLanesOf = sizeof(V) / sizeof(float);

template <typename V>
struct Lanes;
template <>
struct Lanes<Vec4> {
  typedef uint32_t Bits __attribute__((vector_size(16)));
  typedef float Unaligned __attribute__((vector_size(16), aligned(4), may_alias));
};
template <>
struct Lanes<Vec8> {
  typedef uint32_t Bits __attribute__((vector_size(32)));
  typedef float Unaligned __attribute__((vector_size(32), aligned(4), may_alias));
};
template <>
struct Lanes<Vec16> {
  typedef uint32_t Bits __attribute__((vector_size(64)));
  typedef float Unaligned __attribute__((vector_size(64), aligned(4), may_alias));
};

// Operators that compilers provide for vectors of a target's own width.
#define PENSTOCK_PAIR_OPERATOR(op)                                          \
  template <typename H>                                                     \
  PENSTOCK_INLINE Pair<H> operator op(const Pair<H>& a, const Pair<H>& b) { \
    return {a.low op b.low, a.high op b.high};                              \
  }                                                                         \
  template <typename H>                                                     \
  PENSTOCK_INLINE Pair<H> operator op(const Pair<H>& a, float b) {          \
    return {a.low op b, a.high op b};                                       \
  }                                                                         \
  template <typename H>                                                     \
  PENSTOCK_INLINE Pair<H> operator op(float a, const Pair<H>& b) {          \
    return {a op b.low, a op b.high};                                       \
  }                                                                         \
  template <typename H, typename B>                                         \
  PENSTOCK_INLINE Pair<H>& operator op##=(Pair<H>& a, const B& b) {         \
    return a = a op b;                                                      \
  }
PENSTOCK_PAIR_OPERATOR(+)
PENSTOCK_PAIR_OPERATOR(-)
PENSTOCK_PAIR_OPERATOR(*)
PENSTOCK_PAIR_OPERATOR(/)
#undef PENSTOCK_PAIR_OPERATOR

template <typename V>
PENSTOCK_INLINE void Load(const float* from, V& v) {
  v = *reinterpret_cast<const typename Lanes<V>::Unaligned*>(from);
}
template <typename H>
PENSTOCK_INLINE void Load(const float* from, Pair<H>& v) {
  Load(from, v.low);
  Load(from + kLanesOf<H>, v.high);
}

template <typename V>
PENSTOCK_INLINE void Store(const V& v, float* to) {
  *reinterpret_cast<typename Lanes<V>::Unaligned*>(to) = v;
}
template <typename H>
PENSTOCK_INLINE void Store(const Pair<H>& v, float* to) {
  Store(v.low, to);
  Store(v.high, to + kLanesOf<H>);
}

// largest = the larger value in each lane; unchanged where x is NaN.
template <typename V>
PENSTOCK_INLINE void Raise(V& largest, const V& x) {
  largest = x > largest ? x : largest;
}
template <typename H>
PENSTOCK_INLINE void Raise(Pair<H>& largest, const Pair<H>& x) {
  Raise(largest.low, x.low);
  Raise(largest.high, x.high);
}

// Adds halves until one lane is left.
PENSTOCK_INLINE float Sum(const Vec4& v) {
  Vec4 x = v;
  x += __builtin_shufflevector(x, x, 2, 3, 0, 1);
  x += __builtin_shufflevector(x, x, 1, 0, 3, 2);
  return x[0];
}
PENSTOCK_INLINE float Sum(const Vec8& v) {
  return Sum(__builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7));
}
PENSTOCK_INLINE float Sum(const Vec16& v) {
  return Sum(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
             __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15));
}
template <typename H>
PENSTOCK_INLINE float Sum(const Pair<H>& v) {
  return Sum(v.low + v.high);
}

// x = e^x, within 2 units in the last place. Values beyond +-87 are replaced by +-87; NaN stays
// NaN. The polynomial is that of Cephes' expf. The power of two comes from the mantissa of x *
// log2(e) + 1.5 * 2^23.
template <typename V>
PENSTOCK_INLINE void Exp(V& x) {
  using Bits = typename Lanes<V>::Bits;
  constexpr float kRound = 12582912.0f;
  const V low = V{} - 87.0f, high = V{} + 87.0f;
  x = x < low ? low : x;
  x = x > high ? high : x;
  const V shifted = x * 1.44269504088896341f + kRound;
  const V n = shifted - kRound;
  V r = x - n * 0.693359375f;
  r = r + n * 2.12194440e-4f;
  V p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + (r + 1.0f);
  const V e =
      reinterpret_cast<V>(reinterpret_cast<Bits>(p) + (reinterpret_cast<Bits>(shifted) << 23));
  x = x == x ? e : x;  // A NaN's bits could give any number as the sum.
}
template <typename H>
PENSTOCK_INLINE void Exp(Pair<H>& x) {
  Exp(x.low);
  Exp(x.high);
}

// c (kRows, 16 * kVecs; row stride c_stride) = a (kRows, depth) b (depth, 16 * kVecs), where a(r,
// k) is a[r * a_row + k * a_depth]. The sums are kept in kRows * kVecs values.
template <typename Vec, int kRows, int kVecs>
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

// MultiplyTile over 64 rows. Target::kSums is the number of Target::Vec sums that its registers
// hold besides the operands; Target::kWidest is how many of them should be side by side.
template <typename Target, int kVecs>
PENSTOCK_INLINE void Multiply64(const float* a, ptrdiff_t a_row, ptrdiff_t a_depth, int depth,
                                const float* b, ptrdiff_t b_stride, float* c, ptrdiff_t c_stride) {
  constexpr int kColumns = kVecs < Target::kWidest ? kVecs : Target::kWidest;
  constexpr int kRows = Target::kSums / kColumns;
  static_assert(64 % kRows == 0 && kVecs % kColumns == 0);
  for (int row = 0; row < 64; row += kRows) {
    for (int n = 0; n < kVecs * kLanes; n += kColumns * kLanes) {
      MultiplyTile<typename Target::Vec, kRows, kColumns>(a + row * a_row, a_row, a_depth, depth,
                                                          b + n, b_stride, c + row * c_stride + n,
                                                          c_stride);
    }
  }
}

}  // namespace penstock::cpu

#endif  // PENSTOCK_TRAINER_BACKEND_CPU_VECTOR_H_
