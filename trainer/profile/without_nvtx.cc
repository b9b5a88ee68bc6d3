#include "trainer/profile/nvtx.h"

namespace penstock {

void NvtxPush(const char*) {}
void NvtxPush(const char*, uint64_t) {}
void NvtxPop() {}

}  // namespace penstock
