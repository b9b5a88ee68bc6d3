// Which rows of a batch each virtual shard of a rank has.
#ifndef PENSTOCK_TRAINER_BACKEND_CUDA_SHARD_ROWS_H_
#define PENSTOCK_TRAINER_BACKEND_CUDA_SHARD_ROWS_H_

#include <cstddef>

#include "trainer/comm/row_gather.h"

namespace penstock {

// Rank `rank` of `ranks` has `own` of `shards` shards, from `first` on.
struct ShardRows {
  size_t shards = 1, first = 0, own = 1;
  size_t rank = 0, ranks = 1;

  struct Range {
    size_t first, count;
    size_t place;  // Of the first one, in the whole batch.
  };
  // Of the rank's shard `shard`, in the rank's rows of a batch of `global_rows`.
  Range Of(size_t shard, size_t global_rows) const {
    const size_t number = first + shard;
    const size_t begin = number * global_rows / shards;
    return {begin - FirstRowOf(rank, ranks, global_rows),
            (number + 1) * global_rows / shards - begin, begin};
  }
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_CUDA_SHARD_ROWS_H_
