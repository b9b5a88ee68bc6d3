// How many bytes a chunk should have.
#ifndef PENSTOCK_RECORDS_DATASET_CHUNK_SIZE_H_
#define PENSTOCK_RECORDS_DATASET_CHUNK_SIZE_H_

#include <algorithm>
#include <cstdint>

namespace penstock {

// For a dataset of `total_bytes`: 256 KiB, and more only where there would be over 2^22 chunks.
// Below 64 MiB a 4,096th of the data, at least 4 KiB, so that each of 64 lanes has several windows.
constexpr uint64_t ChunkTarget(uint64_t total_bytes) {
  constexpr uint64_t kFull = uint64_t{256} << 10;
  if (total_bytes < uint64_t{64} << 20) {
    return std::clamp<uint64_t>(total_bytes / 4096, uint64_t{4} << 10, kFull);
  }
  return std::max(kFull, total_bytes >> 22);
}

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_CHUNK_SIZE_H_
