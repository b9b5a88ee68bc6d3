// The CUDA runtime, or the part of it that the emulation has.
#ifndef PENSTOCK_KERNELS_SIMT_RUNTIME_H_
#define PENSTOCK_KERNELS_SIMT_RUNTIME_H_

#if defined(PENSTOCK_SIMT_EMULATION)
#include "kernels/simt/emulated_runtime.h"
#else
#include <cuda_runtime_api.h>
#endif

#endif  // PENSTOCK_KERNELS_SIMT_RUNTIME_H_
