// Chooses the size of chunks.
#ifndef PENSTOCK_RECORDS_DATASET_CHUNK_SIZE_H_
#define PENSTOCK_RECORDS_DATASET_CHUNK_SIZE_H_

#include <algorithm>
#include <bit>
#include <cstdint>

namespace penstock {

// Returns the target size of a chunk, in bytes, for a dataset of `total_bytes`: 256 KiB, or more if
// there would otherwise be more than 2^22 chunks. For less than 64 MiB of data, it is at most
// 1/4096 of the data, but at least 4 KiB, so that each of 64 lanes has several windows. The size is
// a power of two, so that one shard more or less rarely changes it: the results of an interrupted
// index run are reused only for the same size.
constexpr uint64_t ChunkTarget(uint64_t total_bytes) {
  constexpr uint64_t kFull = uint64_t{256} << 10;
  if (total_bytes < uint64_t{64} << 20) {
    return std::max(std::bit_floor(total_bytes / 4096), uint64_t{4} << 10);
  }
  return std::max(kFull, std::bit_ceil(((total_bytes - 1) >> 22) + 1));
}

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_CHUNK_SIZE_H_
