#include "trainer/app/build_notes.h"

#include "trainer/backend/cpu/gemm_onednn.h"
#include "trainer/comm/gloo_communicator.h"

namespace penstock {

std::string BuildNotes() {
  std::string notes;
  if (!HasOneDnn()) notes += "this build has no oneDNN: OpenBLAS multiplies, in fp32 alone\n";
  if (!HasGloo()) notes += "this build has no Gloo: one rank alone trains\n";
  return notes;
}

}  // namespace penstock
