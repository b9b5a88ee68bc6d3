// From operations to the launchers of kernels/cuda. Compiled twice: for CUDA, and for the emulated
// device of kernels/simt; so it names no type of either.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_KERNEL_LAUNCH_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_KERNEL_LAUNCH_H_

#include <cstddef>

#include "trainer/backend/device/device_op.h"

namespace penstock {

// Bytes of workspace that the kernel of `op` needs. Of operations that are no kernel of ours: 0.
size_t KernelWorkspace(const DeviceOp& op);

// Queues the kernel of `op` on a cudaStream_t; returns a cudaError_t. REQUIRES: not a matrix
// product, kZero or kCopy.
int LaunchKernel(const DeviceOp& op, void* stream);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_KERNEL_LAUNCH_H_
