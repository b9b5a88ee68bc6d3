// Reductions over ranks, added in rank order.
#ifndef PENSTOCK_TRAINER_COMM_REDUCTION_H_
#define PENSTOCK_TRAINER_COMM_REDUCTION_H_

#include <algorithm>
#include <span>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/gather.h"
#include "trainer/comm/verbs.h"

namespace penstock {

template <typename T>
T Combine(ReduceOp op, T a, T b) {
  switch (op) {
    case ReduceOp::kMin:
      return std::min(a, b);
    case ReduceOp::kMax:
      return std::max(a, b);
    case ReduceOp::kProduct:
      return a * b;
    default:
      return a + b;
  }
}

template <typename T>
absl::Status CheckReduction(const AllreduceOptions& options) {
  const bool scales =
      options.op == ReduceOp::kAverage || options.prescale != 1 || options.postscale != 1;
  if (!std::is_integral_v<T> || !scales) return absl::OkStatus();
  return absl::InvalidArgumentError("integers cannot be averaged or scaled; sum them");
}

template <typename T>
void Scale(std::span<T> values, double factor) {
  if (factor == 1) return;
  for (T& value : values) value = static_cast<T>(static_cast<double>(value) * factor);
}

// Replaces this rank's part of `values` by the reduction; the rest is unspecified.
template <typename T>
absl::Status ReduceScatter(Communicator& ranks, std::span<T> values,
                           const AllreduceOptions& options) {
  auto part = [&](size_t rank) {
    const size_t first = FirstRowOf(rank, ranks.size(), values.size());
    return values.subspan(first, FirstRowOf(rank + 1, ranks.size(), values.size()) - first);
  };
  const std::span<T> own = part(ranks.rank());
  Scale(values, options.prescale);
  std::vector<T> received(ranks.size() * own.size());
  std::vector<std::span<const uint8_t>> out;
  std::vector<std::span<uint8_t>> in;
  for (size_t r = 0; r < ranks.size(); ++r) {
    out.push_back(AsBytes(part(r)));
    in.push_back(AsBytes(std::span(received).subspan(r * own.size(), own.size())));
  }
  if (absl::Status status = ranks.AllToAll(out, in); !status.ok()) return status;
  std::copy_n(received.begin(), own.size(), own.begin());
  for (size_t r = 1; r < ranks.size(); ++r) {
    const T* theirs = received.data() + r * own.size();
    for (size_t i = 0; i < own.size(); ++i) own[i] = Combine(options.op, own[i], theirs[i]);
  }
  const double mean =
      options.op == ReduceOp::kAverage ? 1.0 / static_cast<double>(ranks.size()) : 1.0;
  Scale(own, mean * options.postscale);
  return absl::OkStatus();
}

// Sends every rank's part of `values` to all ranks.
template <typename T>
absl::Status GatherParts(Communicator& ranks, std::span<T> values) {
  std::vector<std::span<uint8_t>> parts;
  for (size_t r = 0; r < ranks.size(); ++r) {
    const size_t first = FirstRowOf(r, ranks.size(), values.size());
    const size_t last = FirstRowOf(r + 1, ranks.size(), values.size());
    parts.push_back(AsBytes(values.subspan(first, last - first)));
  }
  return ranks.AllGather(parts);
}

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_REDUCTION_H_
