#include "trainer/comm/shard_merge.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "trainer/comm/gather.h"

namespace penstock {
namespace {

size_t BlocksOf(size_t count) { return (count + kSliceBlock - 1) / kSliceBlock; }

// The largest power of two up to `limit` that divides `shards`.
size_t LargestDivisor(size_t shards, size_t limit) {
  return std::min(std::bit_floor(limit), shards & (~shards + 1));
}

}  // namespace

MergePlan PlanMerge(std::span<const ShardAddition> tree, size_t shards, size_t ranks) {
  MergePlan plan;
  const size_t per_rank = shards / ranks;
  std::vector<bool> unfinished(shards), consumed(shards);
  for (const ShardAddition& addition : tree) {
    const bool local = addition.sum / per_rank == addition.addend / per_rank &&
                       !unfinished[addition.sum] && !unfinished[addition.addend];
    if (local) {
      plan.local.push_back(addition);
      consumed[addition.addend] = true;
    } else {
      plan.rest.push_back(addition);
      unfinished[addition.sum] = true;
    }
  }
  for (size_t shard = 0; shard < shards; ++shard) {
    if (!consumed[shard]) plan.open.push_back(shard);
  }
  return plan;
}

std::vector<ShardAddition> FastTree(size_t shards, size_t ranks) {
  std::vector<ShardAddition> tree;
  const size_t per_rank = shards / ranks;
  for (size_t shard = 0; shard < shards; ++shard) {
    if (shard % per_rank != 0) tree.push_back({shard / per_rank * per_rank, shard});
  }
  for (size_t rank = 1; rank < ranks; ++rank) tree.push_back({0, rank * per_rank});
  return tree;
}

absl::Status CheckShardsAndRanks(size_t shards, size_t ranks) {
  if (ranks > 0 && std::has_single_bit(ranks) && shards % ranks == 0) return absl::OkStatus();
  const size_t power = std::bit_ceil(std::max<size_t>(ranks, 1));
  return absl::InvalidArgumentError(absl::StrCat(
      "--virtual-shards ", shards, " on ", ranks,
      " ranks: --reduction deterministic needs a number of ranks that is a power of two and "
      "divides the shards; the nearest are ",
      LargestDivisor(shards, std::max<size_t>(ranks, 1)), " ranks, or --virtual-shards ",
      (shards + power - 1) / power * power, " with ", power, " ranks"));
}

size_t SliceBegin(size_t rank, size_t ranks, size_t count) {
  return std::min(count, rank * BlocksOf(count) / ranks * kSliceBlock);
}

// A smaller `count` may end in a fuller block than a larger one.
size_t LargestSlice(size_t ranks, size_t count) {
  return (BlocksOf(count) + ranks - 1) / ranks * kSliceBlock;
}

ShardMerge::ShardMerge(Communicator& ranks, std::span<const ShardAddition> tree, size_t shards,
                       size_t size, WireFloat wire)
    : ranks_(ranks),
      plan_(PlanMerge(tree, shards, ranks.size())),
      size_(size),
      own_(shards / ranks.size()),
      first_(ranks.rank() * own_),
      wire_(plan_.open.size() == ranks.size() ? wire : WireFloat::kFp32) {}

absl::Status ShardMerge::Run(float* gradients, Range range, Add add) {
  AddOwn(gradients, range, add);
  return AddOthers(gradients, range, add);
}

void ShardMerge::AddOwn(float* gradients, Range range, Add add) const {
  gradients += range.first;
  for (const ShardAddition& addition : plan_.local) {
    if (!Owns(addition.sum)) continue;
    add(gradients + (addition.addend - first_) * size_, range.count,
        gradients + (addition.sum - first_) * size_);
  }
}

absl::Status ShardMerge::AddOthers(float* gradients, Range range, Add add) {
  if (ranks_.size() == 1) return absl::OkStatus();
  gradients += range.first;
  PENSTOCK_RETURN_IF_ERROR(ExchangeSlices(gradients, range.count));
  AddSlices(gradients, range.count, add);
  return GatherSlices(gradients, range.count);
}

absl::Status ShardMerge::ExchangeHalves(float* gradients, size_t count) {
  const Range own = SliceOf(ranks_.rank(), count);
  sent_halves_.resize(count);
  received_halves_.resize(ranks_.size() * own.count);
  received_.resize(ranks_.size() * own.count);
  ToHalves(wire_, gradients, count, sent_halves_.data());
  std::vector<Communicator::Outgoing> out;
  std::vector<Communicator::Incoming> in;
  for (size_t r = 0; r < ranks_.size(); ++r) {
    const Range theirs = SliceOf(r, count);
    out.push_back({r, AsBytes(std::span(sent_halves_.data() + theirs.first, theirs.count))});
    in.push_back({r, AsBytes(std::span(received_halves_.data() + r * own.count, own.count))});
  }
  PENSTOCK_RETURN_IF_ERROR(ranks_.Exchange(out, in));
  FromHalves(wire_, received_halves_.data(), received_halves_.size(), received_.data());
  open_slices_.clear();
  for (size_t r = 0; r < ranks_.size(); ++r) {
    open_slices_.push_back(received_.data() + r * own.count);
  }
  return absl::OkStatus();
}

absl::Status ShardMerge::GatherHalves(float* gradients, size_t count) {
  const Range own = SliceOf(ranks_.rank(), count);
  ToHalves(wire_, gradients + own.first, own.count, sent_halves_.data() + own.first);
  std::vector<std::span<uint8_t>> parts;
  for (size_t r = 0; r < ranks_.size(); ++r) {
    const Range slice = SliceOf(r, count);
    parts.push_back(AsBytes(std::span(sent_halves_.data() + slice.first, slice.count)));
  }
  PENSTOCK_RETURN_IF_ERROR(ranks_.AllGather(parts));
  FromHalves(wire_, sent_halves_.data(), count, gradients);
  return absl::OkStatus();
}

absl::Status ShardMerge::ExchangeSlices(float* gradients, size_t count) {
  if (wire_ != WireFloat::kFp32) return ExchangeHalves(gradients, count);
  const Range own = SliceOf(ranks_.rank(), count);
  received_.resize(plan_.open.size() * own.count);
  open_slices_.clear();
  std::vector<Communicator::Outgoing> out;
  std::vector<Communicator::Incoming> in;
  for (size_t i = 0; i < plan_.open.size(); ++i) {
    const size_t shard = plan_.open[i];
    if (!Owns(shard)) {
      float* place = received_.data() + i * own.count;
      open_slices_.push_back(place);
      in.push_back({shard / own_, AsBytes(std::span(place, own.count))});
      continue;
    }
    float* sum = gradients + (shard - first_) * size_;
    open_slices_.push_back(sum + own.first);
    for (size_t r = 0; r < ranks_.size(); ++r) {
      const Range theirs = SliceOf(r, count);
      if (r != ranks_.rank())
        out.push_back({r, AsBytes(std::span(sum + theirs.first, theirs.count))});
    }
  }
  return ranks_.Exchange(out, in);
}

void ShardMerge::AddSlices(float* gradients, size_t count, Add add) {
  const Range own = SliceOf(ranks_.rank(), count);
  auto slice_of = [&](size_t shard) {
    const auto at = std::lower_bound(plan_.open.begin(), plan_.open.end(), shard);
    return open_slices_[static_cast<size_t>(at - plan_.open.begin())];
  };
  for (const ShardAddition& addition : plan_.rest) {
    add(slice_of(addition.addend), own.count, slice_of(addition.sum));
  }
  if (const float* sum = slice_of(0); sum != gradients + own.first) {
    std::memcpy(gradients + own.first, sum, own.count * sizeof(float));
  }
}

absl::Status ShardMerge::GatherSlices(float* gradients, size_t count) {
  if (wire_ != WireFloat::kFp32) return GatherHalves(gradients, count);
  std::vector<std::span<uint8_t>> parts;
  for (size_t r = 0; r < ranks_.size(); ++r) {
    const Range slice = SliceOf(r, count);
    parts.push_back(AsBytes(std::span(gradients + slice.first, slice.count)));
  }
  return ranks_.AllGather(parts);
}

}  // namespace penstock
