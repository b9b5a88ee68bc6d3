// Ranges that NVIDIA's tools (Nsight Systems, ncu --nvtx) show beside a GPU's work, in the domain
// "penstock". Only in builds with CUDA. Without a tool, a call costs a load and a branch.
#ifndef PENSTOCK_TRAINER_PROFILE_NVTX_H_
#define PENSTOCK_TRAINER_PROFILE_NVTX_H_

#include <cstdint>

namespace penstock {

// Begins a range on the calling thread, nested in its open ranges. A tool copies `name`.
void NvtxPush(const char* name);
// The same with a number that tools show beside the name.
void NvtxPush(const char* name, uint64_t number);
// Ends the calling thread's innermost range.
void NvtxPop();

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_PROFILE_NVTX_H_
