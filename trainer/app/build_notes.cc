#include "trainer/app/build_notes.h"

#include "trainer/backend/cpu/gemm_onednn.h"

namespace penstock {

std::string BuildNotes() {
  return HasOneDnn() ? "" : "this build has no oneDNN: OpenBLAS multiplies, in fp32 alone\n";
}

}  // namespace penstock
