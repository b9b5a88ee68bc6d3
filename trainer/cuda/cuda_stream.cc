#include "trainer/cuda/cuda_stream.h"

#include <cuda_runtime_api.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "trainer/cuda/cuda_status.h"

namespace penstock {
absl::StatusOr<DeviceStream::Memory> CudaStream::Allocate(Place place, size_t bytes) {
  void* memory = nullptr;
  const bool pinned = place == Place::kPinnedHost;
  PENSTOCK_RETURN_IF_ERROR(
      CudaStatus(pinned ? cudaMallocHost(&memory, bytes) : cudaMalloc(&memory, bytes),
                 absl::StrCat("allocating ", bytes, " bytes of ", pinned ? "pinned" : "GPU",
                              " memory for the exchange between ranks")));
  return Memory(static_cast<uint8_t*>(memory), [pinned](uint8_t* freed) {
    (void)(pinned ? cudaFreeHost(freed) : cudaFree(freed));
  });
}

absl::Status CudaStream::Copy(uint8_t* to, const uint8_t* from, size_t bytes) {
  return CudaStatus(
      cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, static_cast<cudaStream_t>(stream_)),
      "starting a copy of the exchange between ranks");
}

absl::Status CudaStream::BeginCapture() {
  return CudaStatus(
      cudaStreamBeginCapture(static_cast<cudaStream_t>(stream_), cudaStreamCaptureModeThreadLocal),
      "beginning a graph of an exchange between ranks");
}

absl::Status CudaStream::EndCapture() {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  PENSTOCK_RETURN_IF_ERROR(
      CudaStatus(cudaStreamEndCapture(static_cast<cudaStream_t>(stream_), &graph),
                 "ending a graph of an exchange between ranks"));
  const absl::Status made = CudaStatus(cudaGraphInstantiate(&executable, graph, 0),
                                       "making a graph of an exchange between ranks");
  (void)cudaGraphDestroy(graph);
  graph_ = executable;
  return made;
}

absl::Status CudaStream::LaunchGraph() {
  return CudaStatus(
      cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph_), static_cast<cudaStream_t>(stream_)),
      "launching a graph of an exchange between ranks");
}

// There is nobody to report an error to.
void CudaStream::EndGraph() {
  if (graph_ != nullptr) (void)cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph_));
  graph_ = nullptr;
}

absl::StatusOr<bool> CudaStream::Done() {
  const cudaError_t state = cudaStreamQuery(static_cast<cudaStream_t>(stream_));
  if (state == cudaErrorNotReady) {
    (void)cudaGetLastError();
    return false;
  }
  PENSTOCK_RETURN_IF_ERROR(CudaStatus(state, "the GPU's work before an exchange between ranks"));
  return true;
}

absl::StatusOr<std::string> CurrentGpuUuid() {
  int device = 0;
  PENSTOCK_RETURN_IF_ERROR(CudaStatus(cudaGetDevice(&device), "asking which GPU this rank uses"));
  cudaDeviceProp properties;
  PENSTOCK_RETURN_IF_ERROR(CudaStatus(cudaGetDeviceProperties(&properties, device),
                                      "reading the properties of this rank's GPU"));
  const std::string hex =
      absl::BytesToHexString(absl::string_view(properties.uuid.bytes, sizeof(properties.uuid)));
  return absl::StrCat("GPU-", hex.substr(0, 8), "-", hex.substr(8, 4), "-", hex.substr(12, 4), "-",
                      hex.substr(16, 4), "-", hex.substr(20));
}

}  // namespace penstock
