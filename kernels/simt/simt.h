// What a kernel may use of a GPU, and nothing else: so that the same source is compiled by nvcc
// and, with PENSTOCK_SIMT_EMULATION, as plain C++ whose threads, warps and blocks are emulated.
//
// Both forms have, in namespace penstock::simt:
//   Launch(kernel, Grid, stream, arguments...) -> cudaError_t
//   BlockX() BlockY() GridX() Thread() Threads()  indices; a block has one dimension
//   Shared()                                      the block's dynamic memory, aligned to 16 bytes
//   kSaveRegisters                                computing twice is better than keeping
//   Anew(x)                                       x, for that: taken for another by the compiler
//   SyncBlock() SyncWarp()                        every thread of the block, of the warp
//   ShuffleXor(x, mask) Shuffle(x, lane)          whole warps only
//   LoadMatrices(r, row) LoadMatricesTransposed   ldmatrix .x4
//   MmaBf16(c, a, b)                              mma m16n8k16, fp32 sums
//   CopyAsync16(to, from, valid) CopyAsyncWait()  16 bytes to shared memory; zeros if not valid
//   Exp2(x)
#ifndef PENSTOCK_KERNELS_SIMT_SIMT_H_
#define PENSTOCK_KERNELS_SIMT_SIMT_H_

namespace penstock::simt {

inline constexpr unsigned kWarp = 32;

struct Grid {
  unsigned x = 1, y = 1;  // Blocks.
  unsigned threads = 1;   // Of a block; whole warps where warps work together.
  unsigned shared = 0;    // Bytes of dynamic shared memory.
};

}  // namespace penstock::simt

#if defined(PENSTOCK_SIMT_EMULATION)
#include "kernels/simt/emulated_device.h"
#else
#include "kernels/simt/cuda_device.h"
#endif

#endif  // PENSTOCK_KERNELS_SIMT_SIMT_H_
