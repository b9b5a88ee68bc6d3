// Expands packed bits element by element, on a CPU or in a CUDA kernel. Includes nothing but C.
#ifndef PENSTOCK_CLIENT_LOADER_PACKED_BIT_H_
#define PENSTOCK_CLIENT_LOADER_PACKED_BIT_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define PENSTOCK_PACKED_BIT __host__ __device__ inline
#else
#define PENSTOCK_PACKED_BIT inline
#endif

namespace penstock {

// The source of one element of an expanded tensor: the element is `value` (+1 or -1) if bit number
// `bit` of the packed row is set, and 0 otherwise. Bits count from the most significant one of each
// byte.
struct PackedBit {
  uint32_t bit;
  int32_t value;
};

PENSTOCK_PACKED_BIT int32_t ExpandBit(const uint8_t* packed_row, PackedBit element) {
  return (packed_row[element.bit / 8] >> (7 - element.bit % 8) & 1) ? element.value : 0;
}

// Writes elements first, first + stride, ... of `rows` expanded rows to `out`, row-major. A kernel
// passes the number of its thread as `first`, and the number of threads as `stride`. `packed` has
// `packed_bytes` for each row; `elements` are the `size` of PackedBits::elements().
template <typename T>
PENSTOCK_PACKED_BIT void ExpandPackedBits(const uint8_t* packed, size_t packed_bytes,
                                          const PackedBit* elements, size_t size, size_t rows,
                                          size_t first, size_t stride, T* out) {
  for (size_t i = first; i < rows * size; i += stride) {
    out[i] = static_cast<T>(ExpandBit(packed + i / size * packed_bytes, elements[i % size]));
  }
}

}  // namespace penstock

#undef PENSTOCK_PACKED_BIT

#endif  // PENSTOCK_CLIENT_LOADER_PACKED_BIT_H_
