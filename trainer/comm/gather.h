// Small things that all ranks are to know of each other, and numbers of each row.
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

// Every rank's `own`, by rank.
template <typename T>
absl::StatusOr<std::vector<T>> GatherOne(Communicator& ranks, const T& own) {
  std::vector<T> all(ranks.size());
  all[ranks.rank()] = own;
  std::vector<std::span<uint8_t>> parts;
  for (T& one : all) parts.push_back(AsBytes(std::span(&one, 1)));
  PENSTOCK_RETURN_IF_ERROR(ranks.AllGather(parts));
  return all;
}

// `text` becomes root's, of whatever length.
inline absl::Status BroadcastText(Communicator& ranks, size_t root, std::string& text) {
  uint64_t size = text.size();
  PENSTOCK_RETURN_IF_ERROR(ranks.Broadcast(root, AsBytes(std::span(&size, 1))));
  text.resize(size);
  return ranks.Broadcast(root, AsBytes(std::span(text)));
}

// First row of rank `rank` in a global batch of `rows`: it has those up to the next rank's first.
inline size_t FirstRowOf(size_t rank, size_t size, size_t rows) { return rank * rows / size; }

// Each array has as many numbers for every one of the global batch's `rows`, of which the caller
// filled those of its own.
absl::Status GatherRows(Communicator& ranks, size_t rows, std::span<const std::span<float>> arrays);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_GATHER_H_
