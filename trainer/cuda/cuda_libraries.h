// NVIDIA's libraries that the CUDA backend uses, none of which it is linked with.
#ifndef PENSTOCK_TRAINER_CUDA_CUDA_LIBRARIES_H_
#define PENSTOCK_TRAINER_CUDA_CUDA_LIBRARIES_H_

#include "trainer/cuda/shared_library.h"

namespace penstock {

LibrarySpec CublasLtSpec();  // 12.0 or newer; GEMMs.
LibrarySpec NcclSpec();      // 2.18 or newer: communicators that do not block; several GPUs.
LibrarySpec CuptiSpec();     // Of CUDA 12.0 or newer; traces.
LibrarySpec NvmlSpec();      // The driver's, any; who else uses a GPU.

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_CUDA_LIBRARIES_H_
