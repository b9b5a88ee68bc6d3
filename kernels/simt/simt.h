// The GPU features that a kernel may use, and nothing else. The same source is compiled by nvcc
// and, with PENSTOCK_SIMT_EMULATION, as plain C++ with emulated threads, warps and blocks.
//
// Both forms have, in namespace penstock::simt:
//   Launch(kernel, Grid, stream, arguments...) -> cudaError_t
//   BlockX() BlockY() GridX() Thread() Threads()  indices; a block has one dimension
//   Shared()                                      the block's dynamic memory, aligned to 16 bytes
//   kSaveRegisters                                whether to recompute rather than keep values
//   Anew(x)                                       x, which the compiler then treats as a new value
//   SyncBlock() SyncWarp()                        barriers of the block, of the warp
//   ShuffleXor(x, mask) Shuffle(x, lane)          need whole warps
//   LoadMatrices(r, row) LoadMatricesTransposed   ldmatrix .x4
//   MmaBf16(c, a, b)                              mma m16n8k16, fp32 sums
//   CopyAsync16(to, from, valid) CopyAsyncWait()  16 bytes to shared memory; zeros if not valid
//   Exp2(x) Exp(x) Log(x) Log2(x) Tanh(x) Erfc(x)
#ifndef PENSTOCK_KERNELS_SIMT_SIMT_H_
#define PENSTOCK_KERNELS_SIMT_SIMT_H_

namespace penstock::simt {

inline constexpr unsigned kWarp = 32;

struct Grid {
  unsigned x = 1, y = 1;  // Number of blocks in each dimension.
  unsigned threads = 1;   // Threads per block; whole warps if a warp's threads work together.
  unsigned shared = 0;    // Bytes of dynamic shared memory.
};

}  // namespace penstock::simt

#if defined(PENSTOCK_SIMT_EMULATION)
#include "kernels/simt/emulated_device.h"
#else
#include "kernels/simt/cuda_device.h"
#endif

#endif  // PENSTOCK_KERNELS_SIMT_SIMT_H_
