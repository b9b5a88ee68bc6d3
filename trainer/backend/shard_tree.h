// The virtual shards of a training, and the tree in which their gradients are added.
#ifndef PENSTOCK_TRAINER_BACKEND_SHARD_TREE_H_
#define PENSTOCK_TRAINER_BACKEND_SHARD_TREE_H_

#include <cstddef>
#include <vector>

#include "trainer/comm/shard_merge.h"
#include "trainer/step/program.h"

namespace penstock {

// With --reduction fast, rounds up so that every rank has equally many shards.
inline size_t ShardsFor(size_t shards, size_t ranks, bool fast_reduction) {
  return fast_reduction ? (shards + ranks - 1) / ranks * ranks : shards;
}

// The additions of an update program (BuildUpdate()), where shard v is buffer v.
inline std::vector<ShardAddition> TreeOf(const StepProgram& update) {
  std::vector<ShardAddition> tree;
  for (const Op& op : update.ops) {
    if (op.kind == OpKind::kAddGradients) {
      tree.push_back({op.operands[0].buffer, op.operands[1].buffer});
    }
  }
  return tree;
}

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_SHARD_TREE_H_
