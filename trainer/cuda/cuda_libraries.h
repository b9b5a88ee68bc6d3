// NVIDIA's libraries that the CUDA backend uses. It is linked with none of them.
#ifndef PENSTOCK_TRAINER_CUDA_CUDA_LIBRARIES_H_
#define PENSTOCK_TRAINER_CUDA_CUDA_LIBRARIES_H_

#include "trainer/cuda/shared_library.h"

namespace penstock {

LibrarySpec CublasLtSpec();  // 12.0 or newer; for GEMMs.
LibrarySpec NcclSpec();      // 2.18 or newer (non-blocking communicators); for several GPUs.
LibrarySpec CuptiSpec();     // From CUDA 12.0 or newer; for traces.
LibrarySpec NvmlSpec();      // The driver's, any version; for other users of a GPU.

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_CUDA_LIBRARIES_H_
