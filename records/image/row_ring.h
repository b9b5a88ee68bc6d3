// Holds the last rows between the two passes of a resize.
#ifndef PENSTOCK_RECORDS_IMAGE_ROW_RING_H_
#define PENSTOCK_RECORDS_IMAGE_ROW_RING_H_

#include <bit>
#include <cstddef>
#include <cstdint>

#include "records/image/pixels.h"
#include "records/image/resample_kernels.h"

namespace penstock {

// Holds rows by number. At least the last `capacity` rows are available. Not thread-safe.
class RowRing {
 public:
  static uint64_t Memory(uint64_t capacity, uint64_t row_bytes) {
    return std::bit_ceil(capacity) * resample_internal::PaddedToBlocks(row_bytes);
  }

  // Starts with no rows. Rows have `row_bytes` bytes, padded to whole blocks.
  void Start(size_t capacity, size_t row_bytes) {
    mask_ = std::bit_ceil(capacity) - 1;
    stride_ = resample_internal::PaddedToBlocks(row_bytes);
    rows_ = memory_.Reserve(Memory(capacity, row_bytes));
  }

  uint8_t* row(size_t n) { return rows_ + (n & mask_) * stride_; }
  const uint8_t* row(size_t n) const { return rows_ + (n & mask_) * stride_; }

  // Frees memory that grew for a large image, and forgets all rows.
  void Trim() { memory_.Trim(); }

 private:
  size_t mask_ = 0;  // A power of two minus 1, so that finding a row needs no division.
  size_t stride_ = 0;
  uint8_t* rows_ = nullptr;
  ScratchMemory memory_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_ROW_RING_H_
