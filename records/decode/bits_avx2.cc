#include <immintrin.h>

#include <cstring>

#include "records/decode/bits_kernels.h"

#define PENSTOCK_AVX2 __attribute__((target("avx2")))

namespace penstock::bits_internal {
namespace {

PENSTOCK_AVX2 inline __m256i Load2Lanes(const uint8_t* low, const uint8_t* high) {
  const __m128i l = _mm_loadu_si128(reinterpret_cast<const __m128i*>(low));
  const __m128i h = _mm_loadu_si128(reinterpret_cast<const __m128i*>(high));
  return _mm256_inserti128_si256(_mm256_castsi128_si256(l), h, 1);
}

// Elements [32 * half, 32 * half + 32) of the block.
PENSTOCK_AVX2 inline __m256i HalfBlock(const BitBlock& block, const uint8_t* bytes, int half) {
  const auto load = [&](const auto& array) PENSTOCK_AVX2 {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(array.data() + 32 * half));
  };
  const __m256i source =
      Load2Lanes(bytes + block.lane_base[2 * half], bytes + block.lane_base[2 * half + 1]);
  const __m256i mask = load(block.mask);
  const __m256i bit = _mm256_and_si256(_mm256_shuffle_epi8(source, load(block.lane_index)), mask);
  return _mm256_and_si256(_mm256_cmpeq_epi8(bit, mask), load(block.value));
}

PENSTOCK_AVX2 inline void ExpandBlock(const BitTable& table, const BitBlock& block,
                                      const uint8_t* bytes, int8_t* out) {
  if (!block.lanes) return ExpandBlockScalar(table, block, bytes, out);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), HalfBlock(block, bytes, 0));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 32), HalfBlock(block, bytes, 1));
}

struct I8 {
  static constexpr size_t kSize = 1;
  PENSTOCK_AVX2 static void Store(const int8_t* values, uint8_t* out) {
    std::memcpy(out, values, kBitBlock);
  }
};

struct Bf16 {
  static constexpr size_t kSize = 2;
  PENSTOCK_AVX2 static void Store(const int8_t* values, uint8_t* out) {
    for (size_t i = 0; i < kBitBlock; i += 16) {
      const __m256i v =
          _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(values + i)));
      const __m256i zero = _mm256_cmpeq_epi16(v, _mm256_setzero_si256());
      const __m256i one = _mm256_andnot_si256(zero, _mm256_set1_epi16(0x3f80));
      const __m256i sign = _mm256_slli_epi16(_mm256_srli_epi16(v, 15), 15);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i * kSize), _mm256_or_si256(one, sign));
    }
  }
};

PENSTOCK_AVX2 inline __m128i Load8(const int8_t* values) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(values));
}

struct F32 {
  static constexpr size_t kSize = 4;
  PENSTOCK_AVX2 static void Store(const int8_t* values, uint8_t* out) {
    for (size_t i = 0; i < kBitBlock; i += 8) {
      const __m256i v = _mm256_cvtepi8_epi32(Load8(values + i));
      _mm256_storeu_ps(reinterpret_cast<float*>(out + i * kSize), _mm256_cvtepi32_ps(v));
    }
  }
};

struct F64 {
  static constexpr size_t kSize = 8;
  PENSTOCK_AVX2 static void Store(const int8_t* values, uint8_t* out) {
    for (size_t i = 0; i < kBitBlock; i += 8) {
      const __m256i v = _mm256_cvtepi8_epi32(Load8(values + i));
      double* to = reinterpret_cast<double*>(out + i * kSize);
      _mm256_storeu_pd(to, _mm256_cvtepi32_pd(_mm256_castsi256_si128(v)));
      _mm256_storeu_pd(to + 4, _mm256_cvtepi32_pd(_mm256_extracti128_si256(v, 1)));
    }
  }
};

template <typename Element>
PENSTOCK_AVX2 void ExpandRow(const BitTable& table, const uint8_t* row, uint8_t* out) {
  constexpr size_t kOut = kBitBlock * Element::kSize;
  alignas(32) int8_t values[kBitBlock];
  for (size_t r = 0; r < table.repeats; ++r) {
    for (const BitBlock& block : table.period) {
      ExpandBlock(table, block, row + block.base + r * table.stride, values);
      Element::Store(values, out);
      out += kOut;
    }
  }
  if (table.tail_size == 0) return;
  alignas(32) uint8_t tail[kOut];
  ExpandBlock(table, table.tail, row + table.tail.base, values);
  Element::Store(values, tail);
  std::memcpy(out, tail, table.tail_size * Element::kSize);
}

template <typename Element>
PENSTOCK_AVX2 void ExpandRows(const BitTable& table, const uint8_t* const* rows, size_t n,
                              uint8_t* out) {
  for (size_t i = 0; i < n; ++i) {
    ExpandRow<Element>(table, rows[i], out + i * table.size * Element::kSize);
  }
}

}  // namespace

void ExpandRowsAvx2(const BitTable& table, Dtype dtype, const uint8_t* const* rows, size_t n,
                    uint8_t* out) {
  switch (dtype) {
    case Dtype::kBf16:
      return ExpandRows<Bf16>(table, rows, n, out);
    case Dtype::kF32:
      return ExpandRows<F32>(table, rows, n, out);
    case Dtype::kF64:
      return ExpandRows<F64>(table, rows, n, out);
    default:
      return ExpandRows<I8>(table, rows, n, out);
  }
}

}  // namespace penstock::bits_internal
