// Sums a value over a block's threads, in a fixed tree.
#ifndef PENSTOCK_KERNELS_CUDA_BLOCK_SUM_H_
#define PENSTOCK_KERNELS_CUDA_BLOCK_SUM_H_

#include "kernels/simt/simt.h"

namespace penstock::cuda {

// Bytes of shared memory that SumBlock() needs.
inline constexpr unsigned kSumBlockShared = 32 * sizeof(double);

// The result is valid in thread 0. Every thread of the block must call it, once per kernel.
// REQUIRES: whole warps.
PENSTOCK_DEVICE double SumBlock(double x) {
  auto* shared = reinterpret_cast<double*>(simt::Shared());
  for (unsigned mask = simt::kWarp / 2; mask > 0; mask /= 2) x += simt::ShuffleXor(x, mask);
  if (simt::Thread() % simt::kWarp == 0) shared[simt::Thread() / simt::kWarp] = x;
  simt::SyncBlock();
  if (simt::Thread() != 0) return 0;
  double sum = 0;
  for (unsigned w = 0; w < simt::Threads() / simt::kWarp; ++w) sum += shared[w];
  return sum;
}

}  // namespace penstock::cuda

#endif  // PENSTOCK_KERNELS_CUDA_BLOCK_SUM_H_
