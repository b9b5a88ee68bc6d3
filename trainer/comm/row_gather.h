// Numbers of each row, of all ranks' rows, in the order of the global batch.
#ifndef PENSTOCK_TRAINER_COMM_ROW_GATHER_H_
#define PENSTOCK_TRAINER_COMM_ROW_GATHER_H_

#include <cstddef>
#include <span>

#include "absl/status/status.h"
#include "trainer/comm/communicator.h"

namespace penstock {

// First row of rank `rank` in a global batch of `rows`: it has those up to the next rank's first.
inline size_t FirstRowOf(size_t rank, size_t size, size_t rows) { return rank * rows / size; }

// Each array has as many numbers for every one of the global batch's `rows`, of which the caller
// filled those of its own.
absl::Status GatherRows(Communicator& ranks, size_t rows, std::span<const std::span<float>> arrays);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_ROW_GATHER_H_
