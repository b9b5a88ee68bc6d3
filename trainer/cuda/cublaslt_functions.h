// The functions of cuBLASLt that we call.
#ifndef PENSTOCK_TRAINER_CUDA_CUBLASLT_FUNCTIONS_H_
#define PENSTOCK_TRAINER_CUDA_CUBLASLT_FUNCTIONS_H_

#include <cublasLt.h>

#include "trainer/cuda/shared_library.h"

namespace penstock {

// The functions of a library found with CublasLtSpec(). The library must stay loaded.
struct CublasLtFunctions {
  explicit CublasLtFunctions(const SharedLibrary& library) {
    library.Find("cublasLtCreate", create);
    library.Find("cublasLtDestroy", destroy);
    library.Find("cublasLtMatmul", matmul);
    library.Find("cublasLtMatmulAlgoGetHeuristic", heuristic);
    library.Find("cublasLtMatmulAlgoCheck", check);
    library.Find("cublasLtMatmulDescCreate", create_desc);
    library.Find("cublasLtMatmulDescDestroy", destroy_desc);
    library.Find("cublasLtMatmulDescSetAttribute", set_desc);
    library.Find("cublasLtMatrixLayoutCreate", create_layout);
    library.Find("cublasLtMatrixLayoutDestroy", destroy_layout);
    library.Find("cublasLtMatmulPreferenceCreate", create_preference);
    library.Find("cublasLtMatmulPreferenceDestroy", destroy_preference);
    library.Find("cublasLtMatmulPreferenceSetAttribute", set_preference);
  }

  decltype(&cublasLtCreate) create;
  decltype(&cublasLtDestroy) destroy;
  decltype(&cublasLtMatmul) matmul;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic;
  decltype(&cublasLtMatmulAlgoCheck) check;
  decltype(&cublasLtMatmulDescCreate) create_desc;
  decltype(&cublasLtMatmulDescDestroy) destroy_desc;
  decltype(&cublasLtMatmulDescSetAttribute) set_desc;
  decltype(&cublasLtMatrixLayoutCreate) create_layout;
  decltype(&cublasLtMatrixLayoutDestroy) destroy_layout;
  decltype(&cublasLtMatmulPreferenceCreate) create_preference;
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_CUBLASLT_FUNCTIONS_H_
