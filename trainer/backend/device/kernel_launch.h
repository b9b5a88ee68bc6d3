// Maps operations to the launchers of kernels/cuda. Compiled twice: for CUDA, and for the emulated
// device of kernels/simt, so it must name no type of either.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_KERNEL_LAUNCH_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_KERNEL_LAUNCH_H_

#include <cstddef>

#include "trainer/backend/device/device_op.h"

namespace penstock {

// Bytes of workspace that the kernel of `op` needs; 0 if `op` is not one of our kernels.
size_t KernelWorkspace(const DeviceOp& op);

// Queues the kernel of `op` on a cudaStream_t; returns a cudaError_t. REQUIRES: not a matrix
// product, kZero or kCopy.
int LaunchKernel(const DeviceOp& op, void* stream);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_KERNEL_LAUNCH_H_
