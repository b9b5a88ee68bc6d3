// Sums the gradients of virtual shards over ranks, in the order that one rank would.
//
// The tree of additions is given and belongs to the shards, not to the ranks. Additions whose two
// sums lie on one rank are done there; of what is left every rank gets its slice from all others,
// does the remaining additions on it, in order, and hands the result to all. Additions are element
// by element, so slices change no bit.
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
  std::vector<ShardAddition> local;  // Of every rank; done before the exchange.
  std::vector<size_t> open;          // Shards whose sums are exchanged, increasing.
  std::vector<ShardAddition> rest;   // Done after it.
};

// Rank r of R owns the shards [rV/R, (r+1)V/R). REQUIRES: R divides V; the tree ends in shard 0.
MergePlan PlanMerge(std::span<const ShardAddition> tree, size_t shards, size_t ranks);

// The tree of --reduction fast: each rank adds up its own shards, then the ranks' sums are added in
// their order. One sum a rank travels, whatever the numbers; the bits depend on the world size.
std::vector<ShardAddition> FastTree(size_t shards, size_t ranks);

// What is wrong with training `shards` virtual shards on `ranks` ranks, naming the nearest that
// are right: kInvalidArgument unless the ranks are a power of two that divides the shards.
absl::Status CheckShardsAndRanks(size_t shards, size_t ranks);

// Of `count` numbers rank r adds [SliceBegin(r), SliceBegin(r + 1)), wherever they lie: whole
// blocks of so many, 64 bytes of floats, as evenly as that goes.
inline constexpr size_t kSliceBlock = 16;
size_t SliceBegin(size_t rank, size_t ranks, size_t count);
// The most numbers of a slice, of `count` or fewer.
size_t LargestSlice(size_t ranks, size_t count);

// Not thread-safe.
class ShardMerge {
 public:
  using Add = absl::FunctionRef<void(const float* addend, size_t count, float* sum)>;

  // `ranks` must outlive it. `size`: floats of one shard's gradients. What travels is rounded to
  // `wire`, and the sum too, so that it is still the same on all ranks.
  ShardMerge(Communicator& ranks, std::span<const ShardAddition> tree, size_t shards, size_t size,
             WireFloat wire = WireFloat::kFp32);

  // [first, first + count) of a shard's gradients.
  struct Range {
    size_t first, count;
  };

  // gradients: (this rank's shards, size). Its first `size` become the sum of all shards of all
  // ranks, the same bits everywhere; the rest is unspecified.
  absl::Status Run(float* gradients, Add add) { return Run(gradients, {0, size_}, add); }
  // The same of a range of each shard, which alone is read and written. In whatever ranges it is
  // done, the bits are the same.
  absl::Status Run(float* gradients, Range range, Add add);

  // The two halves of Run(): what needs no other rank, which several threads may do of ranges that
  // do not overlap, and the rest.
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
  // Of `count` floats of each shard; `gradients` points to the first of this rank's first shard.
  absl::Status ExchangeSlices(float* gradients, size_t count);
  void AddSlices(float* gradients, size_t count, Add add);
  absl::Status GatherSlices(float* gradients, size_t count);
  // The same with 16-bit numbers on the way; of one open shard a rank.
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
  std::vector<float*> open_slices_;  // Of each open shard, while Run() is under way.
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_SHARD_MERGE_H_
