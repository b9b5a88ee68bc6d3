// Transposes the axes of an array of bytes, for example from planes of pixels to interleaved
// channels.
#ifndef PENSTOCK_RECORDS_DECODE_BYTE_TRANSPOSE_H_
#define PENSTOCK_RECORDS_DECODE_BYTE_TRANSPOSE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

// Immutable; thread-safe.
class ByteTranspose {
 public:
  // Prepares for row-major arrays of shape `dims`. Output axis i is stored axis transpose[i].
  // REQUIRES: `transpose` is a permutation of the axes, and no axis has size 0.
  ByteTranspose(std::span<const uint32_t> dims, std::span<const uint32_t> transpose);

  // Reads and writes as many bytes as the product of dims. The two must not overlap.
  void Run(const uint8_t* in, uint8_t* out) const { Move(axes_, in, out); }

 private:
  // Strides are in bytes.
  struct Axis {
    size_t size = 1;
    size_t in_stride = 1;
    size_t out_stride = 1;
  };

  static void Move(std::span<const Axis> axes, const uint8_t* in, uint8_t* out);

  std::vector<Axis> axes_;  // At least one. The last is the longest.
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_BYTE_TRANSPOSE_H_
