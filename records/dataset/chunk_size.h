// How many bytes a chunk should have.
#ifndef PENSTOCK_RECORDS_DATASET_CHUNK_SIZE_H_
#define PENSTOCK_RECORDS_DATASET_CHUNK_SIZE_H_

#include <algorithm>
#include <bit>
#include <cstdint>

namespace penstock {

// For a dataset of `total_bytes`: 256 KiB, and more only where there would be over 2^22 chunks.
// Below 64 MiB at most a 4,096th of the data, but 4 KiB, so that each of 64 lanes has several
// windows. A power of two, so that a shard more or less seldom changes it: what an interrupted
// index run has finished counts only for the same size.
constexpr uint64_t ChunkTarget(uint64_t total_bytes) {
  constexpr uint64_t kFull = uint64_t{256} << 10;
  if (total_bytes < uint64_t{64} << 20) {
    return std::max(std::bit_floor(total_bytes / 4096), uint64_t{4} << 10);
  }
  return std::max(kFull, std::bit_ceil(((total_bytes - 1) >> 22) + 1));
}

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_CHUNK_SIZE_H_
