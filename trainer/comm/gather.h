// Gathers small values from all ranks, and per-row numbers of a global batch.
#ifndef PENSTOCK_TRAINER_COMM_GATHER_H_
#define PENSTOCK_TRAINER_COMM_GATHER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status.h"
#include "trainer/comm/communicator.h"

namespace penstock {

template <typename T>
std::span<uint8_t> AsBytes(std::span<T> values) {
  return {reinterpret_cast<uint8_t*>(values.data()), values.size_bytes()};
}

// Returns every rank's `own`, indexed by rank.
template <typename T>
absl::StatusOr<std::vector<T>> GatherOne(Communicator& ranks, const T& own) {
  std::vector<T> all(ranks.size());
  all[ranks.rank()] = own;
  std::vector<std::span<uint8_t>> parts;
  for (T& one : all) parts.push_back(AsBytes(std::span(&one, 1)));
  PENSTOCK_RETURN_IF_ERROR(ranks.AllGather(parts));
  return all;
}

// Replaces `text` by root's, whatever its length.
inline absl::Status BroadcastText(Communicator& ranks, size_t root, std::string& text) {
  uint64_t size = text.size();
  PENSTOCK_RETURN_IF_ERROR(ranks.Broadcast(root, AsBytes(std::span(&size, 1))));
  text.resize(size);
  return ranks.Broadcast(root, AsBytes(std::span(text)));
}

// The first row of rank `rank` in a global batch of `rows` rows. Its rows end at the next rank's
// first.
inline size_t FirstRowOf(size_t rank, size_t size, size_t rows) { return rank * rows / size; }

// Each array has the same number of values per row of the global batch's `rows`. The caller fills
// in its own rows; this fills in those of the other ranks.
absl::Status GatherRows(Communicator& ranks, size_t rows, std::span<const std::span<float>> arrays);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_GATHER_H_
