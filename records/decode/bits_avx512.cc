#include <immintrin.h>

#include "records/decode/bits_kernels.h"

// GCC 12 reports _mm512_undefined_*() in its own header as a read of an uninitialised value.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#define PENSTOCK_AVX512 \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi"), always_inline)) inline
#define PENSTOCK_AVX512_OUTLINE \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")))

namespace penstock::bits_internal {
namespace {

PENSTOCK_AVX512 __m512i LoadArray(const void* bytes) { return _mm512_load_si512(bytes); }

PENSTOCK_AVX512 uint64_t FirstBits(size_t n) {
  return n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
}

// Loads the source bytes of a block and picks 64 of their bits. There is one class for each reach
// of a block. Loads are masked to the block's span, so that nothing outside the row is read.
class Narrow {  // span <= 16
 public:
  PENSTOCK_AVX512 Narrow(const BitTable&, const BitBlock& block)
      : index_(LoadArray(block.index.data())),
        mask_(LoadArray(block.mask.data())),
        span_(static_cast<__mmask16>(FirstBits(block.span))) {}
  PENSTOCK_AVX512 __mmask64 Bits(const uint8_t* bytes) const {
    const __m512i source = _mm512_castsi128_si512(_mm_maskz_loadu_epi8(span_, bytes));
    return _mm512_test_epi8_mask(_mm512_permutexvar_epi8(index_, source), mask_);
  }

 private:
  __m512i index_;
  __m512i mask_;
  __mmask16 span_;
};

class Wide {  // span <= 64
 public:
  PENSTOCK_AVX512 Wide(const BitTable&, const BitBlock& block)
      : index_(LoadArray(block.index.data())),
        mask_(LoadArray(block.mask.data())),
        span_(FirstBits(block.span)) {}
  PENSTOCK_AVX512 __mmask64 Bits(const uint8_t* bytes) const {
    const __m512i source = _mm512_maskz_loadu_epi8(span_, bytes);
    return _mm512_test_epi8_mask(_mm512_permutexvar_epi8(index_, source), mask_);
  }

 private:
  __m512i index_;
  __m512i mask_;
  __mmask64 span_;
};

class Far {  // span <= 256: two permutations of 128 bytes, selected by the highest bit of the index
 public:
  PENSTOCK_AVX512 Far(const BitTable&, const BitBlock& block)
      : index_(LoadArray(block.index.data())),
        mask_(LoadArray(block.mask.data())),
        span_(block.span) {}
  PENSTOCK_AVX512 __mmask64 Bits(const uint8_t* bytes) const {
    const __m512i low = _mm512_permutex2var_epi8(Load(bytes, 0), index_, Load(bytes, 1));
    const __m512i high = _mm512_permutex2var_epi8(Load(bytes, 2), index_, Load(bytes, 3));
    const __m512i picked = _mm512_mask_blend_epi8(_mm512_movepi8_mask(index_), low, high);
    return _mm512_test_epi8_mask(picked, mask_);
  }

 private:
  PENSTOCK_AVX512 __m512i Load(const uint8_t* bytes, size_t part) const {
    const size_t start = 64 * part;
    if (span_ <= start) return _mm512_setzero_si512();
    return _mm512_maskz_loadu_epi8(FirstBits(span_ - start), bytes + start);
  }
  __m512i index_;
  __m512i mask_;
  size_t span_;
};

class Anywhere {
 public:
  PENSTOCK_AVX512 Anywhere(const BitTable& table, const BitBlock& block)
      : table_(table), block_(block) {}
  PENSTOCK_AVX512 __mmask64 Bits(const uint8_t* bytes) const {
    alignas(64) int8_t values[kBitBlock];
    ExpandBlockScalar(table_, block_, bytes, values);
    const __m512i v = LoadArray(values);
    return _mm512_test_epi8_mask(v, v);
  }

 private:
  const BitTable& table_;
  const BitBlock& block_;
};

template <bool kStream>
PENSTOCK_AVX512 void StoreVector(void* out, __m512i v) {
  if constexpr (kStream) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(out), v);
  } else {
    _mm512_storeu_si512(out, v);
  }
}

// Element types. Vector() returns vector q of the 64 / kLanes vectors for a block.
struct I8 {
  static constexpr size_t kSize = 1;
  PENSTOCK_AVX512 static __m512i Vector(__mmask64 bits, uint64_t negative, size_t) {
    const __m512i sign =
        _mm512_mask_blend_epi8(negative, _mm512_set1_epi8(1), _mm512_set1_epi8(-1));
    return _mm512_maskz_mov_epi8(bits, sign);
  }
  PENSTOCK_AVX512 static void StoreFirst(uint8_t* out, uint64_t mask, __m512i v) {
    _mm512_mask_storeu_epi8(out, mask, v);
  }
};

struct Bf16 {
  static constexpr size_t kSize = 2;
  PENSTOCK_AVX512 static __m512i Vector(__mmask64 bits, uint64_t negative, size_t q) {
    const __m512i sign = _mm512_mask_blend_epi16(static_cast<__mmask32>(negative >> (32 * q)),
                                                 _mm512_set1_epi16(0x3f80),
                                                 _mm512_set1_epi16(static_cast<int16_t>(0xbf80)));
    return _mm512_maskz_mov_epi16(static_cast<__mmask32>(bits >> (32 * q)), sign);
  }
  PENSTOCK_AVX512 static void StoreFirst(uint8_t* out, uint64_t mask, __m512i v) {
    _mm512_mask_storeu_epi16(out, static_cast<__mmask32>(mask), v);
  }
};

struct F32 {
  static constexpr size_t kSize = 4;
  PENSTOCK_AVX512 static __m512i Vector(__mmask64 bits, uint64_t negative, size_t q) {
    const __m512 sign = _mm512_mask_blend_ps(static_cast<__mmask16>(negative >> (16 * q)),
                                             _mm512_set1_ps(1), _mm512_set1_ps(-1));
    return _mm512_castps_si512(_mm512_maskz_mov_ps(static_cast<__mmask16>(bits >> (16 * q)), sign));
  }
  PENSTOCK_AVX512 static void StoreFirst(uint8_t* out, uint64_t mask, __m512i v) {
    _mm512_mask_storeu_epi32(out, static_cast<__mmask16>(mask), v);
  }
};

struct F64 {
  static constexpr size_t kSize = 8;
  PENSTOCK_AVX512 static __m512i Vector(__mmask64 bits, uint64_t negative, size_t q) {
    const __m512d sign = _mm512_mask_blend_pd(static_cast<__mmask8>(negative >> (8 * q)),
                                              _mm512_set1_pd(1), _mm512_set1_pd(-1));
    return _mm512_castpd_si512(_mm512_maskz_mov_pd(static_cast<__mmask8>(bits >> (8 * q)), sign));
  }
  PENSTOCK_AVX512 static void StoreFirst(uint8_t* out, uint64_t mask, __m512i v) {
    _mm512_mask_storeu_epi64(out, static_cast<__mmask8>(mask), v);
  }
};

template <typename Element, bool kStream>
PENSTOCK_AVX512 void StoreBlock(__mmask64 bits, uint64_t negative, uint8_t* out) {
#pragma GCC unroll 8
  for (size_t q = 0; q < Element::kSize; ++q) {
    StoreVector<kStream>(out + 64 * q, Element::Vector(bits, negative, q));
  }
}

template <typename Element>
PENSTOCK_AVX512 void StoreTail(__mmask64 bits, uint64_t negative, size_t n, uint8_t* out) {
  constexpr size_t kLanes = 64 / Element::kSize;
  for (size_t q = 0; q * kLanes < n; ++q) {
    Element::StoreFirst(out + 64 * q, FirstBits(n - q * kLanes),
                        Element::Vector(bits, negative, q));
  }
}

// Expands all repeats of one block of the period.
template <typename Picker, typename Element, bool kStream>
PENSTOCK_AVX512 void ExpandRepeats(const BitTable& table, const BitBlock& block, const uint8_t* row,
                                   uint8_t* out) {
  const Picker picker(table, block);
  const uint64_t negative = block.negative;
  const uint8_t* bytes = row + block.base;
  const size_t step = table.period.size() * kBitBlock * Element::kSize;
  for (size_t r = 0; r < table.repeats; ++r, bytes += table.stride, out += step) {
    StoreBlock<Element, kStream>(picker.Bits(bytes), negative, out);
  }
}

template <typename Picker, typename Element>
PENSTOCK_AVX512 void ExpandTail(const BitTable& table, const uint8_t* row, uint8_t* out) {
  const Picker picker(table, table.tail);
  StoreTail<Element>(picker.Bits(row + table.tail.base), table.tail.negative, table.tail_size, out);
}

template <typename Element, bool kStream>
PENSTOCK_AVX512_OUTLINE void ExpandRow(const BitTable& table, const uint8_t* row, uint8_t* out) {
  uint8_t* to = out;
  for (const BitBlock& block : table.period) {
    if (block.span <= 16) {
      ExpandRepeats<Narrow, Element, kStream>(table, block, row, to);
    } else if (block.span <= 64) {
      ExpandRepeats<Wide, Element, kStream>(table, block, row, to);
    } else if (block.span <= 256) {
      ExpandRepeats<Far, Element, kStream>(table, block, row, to);
    } else {
      ExpandRepeats<Anywhere, Element, kStream>(table, block, row, to);
    }
    to += kBitBlock * Element::kSize;
  }
  if (table.tail_size == 0) return;
  to = out + (table.size - table.tail_size) * Element::kSize;
  if (table.tail.span <= 64) {
    ExpandTail<Wide, Element>(table, row, to);
  } else {
    ExpandTail<Anywhere, Element>(table, row, to);
  }
}

template <typename Element>
PENSTOCK_AVX512_OUTLINE void ExpandRows(const BitTable& table, Stores stores,
                                        const uint8_t* const* rows, size_t n, uint8_t* out) {
  const size_t row_bytes = table.size * Element::kSize;
  if (stores == Stores::kStreaming && StreamsBits(SimdLevel::kAvx512, out, row_bytes)) {
    for (size_t i = 0; i < n; ++i) ExpandRow<Element, true>(table, rows[i], out + i * row_bytes);
  } else {
    for (size_t i = 0; i < n; ++i) ExpandRow<Element, false>(table, rows[i], out + i * row_bytes);
  }
}

}  // namespace

void ExpandRowsAvx512(const BitTable& table, Dtype dtype, Stores stores, const uint8_t* const* rows,
                      size_t n, uint8_t* out) {
  switch (dtype) {
    case Dtype::kBf16:
      return ExpandRows<Bf16>(table, stores, rows, n, out);
    case Dtype::kF32:
      return ExpandRows<F32>(table, stores, rows, n, out);
    case Dtype::kF64:
      return ExpandRows<F64>(table, stores, rows, n, out);
    default:
      return ExpandRows<I8>(table, stores, rows, n, out);
  }
}

}  // namespace penstock::bits_internal
