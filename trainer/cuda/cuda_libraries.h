// NVIDIA's libraries that the CUDA backend uses. It is linked with none of them.
#ifndef PENSTOCK_TRAINER_CUDA_CUDA_LIBRARIES_H_
#define PENSTOCK_TRAINER_CUDA_CUDA_LIBRARIES_H_

#include "trainer/cuda/shared_library.h"

namespace penstock {

LibrarySpec CublasLtSpec();  // Version 12.0 or newer; used for GEMMs.
// Version 2.18 or newer (non-blocking communicators); used with several GPUs.
LibrarySpec NcclSpec();
LibrarySpec CuptiSpec();  // From CUDA 12.0 or newer; used for traces.
LibrarySpec NvmlSpec();   // Any version, because it is the driver's; finds other users of a GPU.

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_CUDA_LIBRARIES_H_
