// Tells whether a resumed training continues with the bits that it would have had.
#ifndef PENSTOCK_TRAINER_CHECKPOINT_SAME_BITS_H_
#define PENSTOCK_TRAINER_CHECKPOINT_SAME_BITS_H_

#include <string>
#include <vector>

#include "trainer/checkpoint/checkpoint.h"

namespace penstock {

// Returns the settings that affect the bits of the next step and have changed, each as
// "--virtual-shards was 8, is 4". If the result is empty, the bits stay the same. Settings that a
// version 1 file lacks are not compared.
std::vector<std::string> BitDifferences(const CheckpointInfo& then, const CheckpointInfo& now);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CHECKPOINT_SAME_BITS_H_
