#include "trainer/cuda/cuda_libraries.h"

#include <cstddef>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

std::string Remedy(absl::string_view wheel) {
  return absl::StrCat("Install it (NVIDIA's CUDA packages, or pip install ", wheel,
                      "), or set PENSTOCK_CUDA_LIBS to its folder");
}

// cublasLtGetVersion(): 10000 major + 100 minor + patch, such as 120103 or, since 13, 130002.
uint64_t CublasLtVersion(void* function) { return reinterpret_cast<size_t (*)()>(function)(); }
// Prints versions of cuBLASLt and NCCL.
std::string PrintThreeNumbers(uint64_t v) {
  return absl::StrCat(v / 10000, ".", v / 100 % 100, ".", v % 100);
}

// ncclGetVersion(int*): 10000 major + 100 minor + patch, such as 21805.
uint64_t NcclVersion(void* function) {
  int version = 0;
  const int result = reinterpret_cast<int (*)(int*)>(function)(&version);
  return result == 0 && version > 0 ? static_cast<uint64_t>(version) : 0;
}

// cuptiGetVersion(uint32_t*): CUPTI's own numbering, 18 in CUDA 12.0.
uint64_t CuptiVersion(void* function) {
  uint32_t version = 0;
  const int result = reinterpret_cast<int (*)(uint32_t*)>(function)(&version);
  return result == 0 ? version : 0;
}
std::string PrintCupti(uint64_t v) { return absl::StrCat("API ", v); }

}  // namespace

LibrarySpec CublasLtSpec() {
  return {.name = "cuBLASLt",
          .files = {"libcublasLt.so.13", "libcublasLt.so.12"},
          .functions = {"cublasLtCreate", "cublasLtDestroy", "cublasLtMatmul",
                        "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmulAlgoCheck",
                        "cublasLtMatmulDescCreate", "cublasLtMatmulDescDestroy",
                        "cublasLtMatmulDescSetAttribute", "cublasLtMatrixLayoutCreate",
                        "cublasLtMatrixLayoutDestroy", "cublasLtMatmulPreferenceCreate",
                        "cublasLtMatmulPreferenceDestroy", "cublasLtMatmulPreferenceSetAttribute"},
          .version = CublasLtVersion,
          .version_function = "cublasLtGetVersion",
          .least_version = 120000,
          .print = PrintThreeNumbers,
          .remedy = Remedy("nvidia-cublas")};
}

LibrarySpec NcclSpec() {
  return {.name = "NCCL",
          .files = {"libnccl.so.2"},
          .functions = {"ncclGetUniqueId", "ncclCommInitRankConfig", "ncclCommGetAsyncError",
                        "ncclCommAbort", "ncclCommFinalize", "ncclCommDestroy", "ncclGroupStart",
                        "ncclGroupEnd", "ncclSend", "ncclRecv", "ncclGetErrorString"},
          .version = NcclVersion,
          .version_function = "ncclGetVersion",
          .least_version = 21800,
          .print = PrintThreeNumbers,
          .remedy = Remedy("nvidia-nccl-cu13")};
}

LibrarySpec CuptiSpec() {
  return {.name = "CUPTI",
          .files = {"libcupti.so.13", "libcupti.so.12"},
          .functions = {"cuptiSubscribe", "cuptiUnsubscribe", "cuptiActivityRegisterCallbacks",
                        "cuptiActivityEnable", "cuptiActivityDisable", "cuptiActivityFlushAll",
                        "cuptiActivityGetNextRecord", "cuptiActivityGetNumDroppedRecords",
                        "cuptiActivityPushExternalCorrelationId",
                        "cuptiActivityPopExternalCorrelationId", "cuptiGetTimestamp",
                        "cuptiGetStreamIdEx", "cuptiGetCallbackName", "cuptiGetResultString"},
          .version = CuptiVersion,
          .version_function = "cuptiGetVersion",
          .least_version = 18,
          .print = PrintCupti,
          .remedy = Remedy("nvidia-cuda-cupti")};
}

LibrarySpec NvmlSpec() {
  return {.name = "NVML",
          .files = {"libnvidia-ml.so.1"},
          .functions = {"nvmlInit_v2", "nvmlDeviceGetHandleByPciBusId_v2",
                        "nvmlDeviceGetComputeRunningProcesses_v3"},
          .version = [](void*) -> uint64_t { return 1; },
          .version_function = "nvmlInit_v2",
          .least_version = 1,
          .print = [](uint64_t v) { return absl::StrCat(v); },
          .remedy = "It comes with the driver"};
}

}  // namespace penstock
