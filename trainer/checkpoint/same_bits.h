// Whether a resumed training goes on with the bits it would have had.
#ifndef PENSTOCK_TRAINER_CHECKPOINT_SAME_BITS_H_
#define PENSTOCK_TRAINER_CHECKPOINT_SAME_BITS_H_

#include <string>
#include <vector>

#include "trainer/checkpoint/checkpoint.h"

namespace penstock {

// What the bits of the next step depend on and is not as it was, each as
// "--virtual-shards was 8, is 4"; empty: the same bits. What a version 1 file does not tell is not
// compared.
std::vector<std::string> BitDifferences(const CheckpointInfo& then, const CheckpointInfo& now);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CHECKPOINT_SAME_BITS_H_
