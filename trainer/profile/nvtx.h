// Ranges that NVIDIA's tools (Nsight Systems, ncu --nvtx) show beside a GPU's work, in their domain
// "penstock". In builds with CUDA alone; while no tool is attached a call is a load and a branch.
#ifndef PENSTOCK_TRAINER_PROFILE_NVTX_H_
#define PENSTOCK_TRAINER_PROFILE_NVTX_H_

#include <cstdint>

namespace penstock {

// Begins a range of the calling thread, inside those that it has begun. A tool copies `name`.
void NvtxPush(const char* name);
// The same with a number that tools show beside the name.
void NvtxPush(const char* name, uint64_t number);
// Ends the calling thread's newest range.
void NvtxPop();

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_PROFILE_NVTX_H_
