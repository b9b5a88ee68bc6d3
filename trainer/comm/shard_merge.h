// Sums the gradients of virtual shards over ranks, in the order that a single rank would use.
//
// The tree of additions is given. It belongs to the shards, not to the ranks. Additions of two sums
// on the same rank are done there. For the rest, every rank gets its slice from all other ranks,
// does the remaining additions on it in order, and sends the result to all. Additions are element
// by element, so slicing changes no bit.
#ifndef PENSTOCK_TRAINER_COMM_SHARD_MERGE_H_
#define PENSTOCK_TRAINER_COMM_SHARD_MERGE_H_

#include <cstddef>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/half.h"

namespace penstock {

// gradients[sum] += gradients[addend]; the addend is not used again.
struct ShardAddition {
  size_t sum;
  size_t addend;

  friend bool operator==(const ShardAddition&, const ShardAddition&) = default;
};

struct MergePlan {
  std::vector<ShardAddition> local;  // Additions on every rank before the exchange.
  std::vector<size_t> open;          // Shards whose sums are exchanged, ascending.
  std::vector<ShardAddition> rest;   // Additions after the exchange.
};

// Rank r of R owns the shards [rV/R, (r+1)V/R). REQUIRES: R divides V; the tree ends in shard 0.
MergePlan PlanMerge(std::span<const ShardAddition> tree, size_t shards, size_t ranks);

// The tree of --reduction fast: each rank adds its own shards, then the ranks' sums are added in
// rank order. Each rank sends one sum, whatever the numbers. The bits depend on the world size.
std::vector<ShardAddition> FastTree(size_t shards, size_t ranks);

// kInvalidArgument unless the number of ranks is a power of two that divides `shards`; the message
// names the nearest valid numbers.
absl::Status CheckShardsAndRanks(size_t shards, size_t ranks);

// Rank r adds the slice [SliceBegin(r), SliceBegin(r + 1)) of `count` numbers, whatever their
// addresses. Slices are whole blocks of kSliceBlock numbers (64 bytes of floats), divided as evenly
// as possible.
inline constexpr size_t kSliceBlock = 16;
size_t SliceBegin(size_t rank, size_t ranks, size_t count);
// The largest slice of any `count` up to this one.
size_t LargestSlice(size_t ranks, size_t count);

// Not thread-safe.
class ShardMerge {
 public:
  using Add = absl::FunctionRef<void(const float* addend, size_t count, float* sum)>;

  // `ranks` must outlive this object. `size` is the number of floats of one shard's gradients. Sent
  // data is rounded to `wire`, and so is the sum, so that it is the same on all ranks.
  ShardMerge(Communicator& ranks, std::span<const ShardAddition> tree, size_t shards, size_t size,
             WireFloat wire = WireFloat::kFp32);

  // The elements [first, first + count) of a shard's gradients.
  struct Range {
    size_t first, count;
  };

  // gradients: (this rank's shards, size). The first `size` become the sum of all shards of all
  // ranks, the same bits everywhere; the rest is unspecified.
  absl::Status Run(float* gradients, Add add) { return Run(gradients, {0, size_}, add); }
  // Does the same for a range of each shard, and reads and writes nothing else. The bits do not
  // depend on the ranges.
  absl::Status Run(float* gradients, Range range, Add add);

  // The two halves of Run(). AddOwn() needs no other rank, and several threads may call it for
  // ranges that do not overlap. AddOthers() does the rest.
  void AddOwn(float* gradients, Range range, Add add) const;
  absl::Status AddOthers(float* gradients, Range range, Add add);

  size_t first_shard() const { return first_; }
  size_t num_shards() const { return own_; }

 private:
  bool Owns(size_t shard) const { return shard >= first_ && shard < first_ + own_; }
  Range SliceOf(size_t rank, size_t count) const {
    const size_t begin = SliceBegin(rank, ranks_.size(), count);
    return {begin, SliceBegin(rank + 1, ranks_.size(), count) - begin};
  }
  // These work on `count` floats of each shard; `gradients` points at the first one of this rank's
  // first shard.
  absl::Status ExchangeSlices(float* gradients, size_t count);
  void AddSlices(float* gradients, size_t count, Add add);
  absl::Status GatherSlices(float* gradients, size_t count);
  // These do the same with 16-bit numbers, for one open shard per rank.
  absl::Status ExchangeHalves(float* gradients, size_t count);
  absl::Status GatherHalves(float* gradients, size_t count);

  Communicator& ranks_;
  const MergePlan plan_;
  const size_t size_;
  const size_t own_;
  const size_t first_;
  const WireFloat wire_;
  std::vector<uint16_t> sent_halves_, received_halves_;
  std::vector<float> received_;      // This rank's slice of other ranks' open shards.
  std::vector<float*> open_slices_;  // This rank's slice of each open shard, during Run().
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_SHARD_MERGE_H_
