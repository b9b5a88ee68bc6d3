// The few functions of the CUDA runtime that launchers and their tests call, on host memory.
#ifndef PENSTOCK_KERNELS_SIMT_EMULATED_RUNTIME_H_
#define PENSTOCK_KERNELS_SIMT_EMULATED_RUNTIME_H_

#include <cstddef>
#include <cstdlib>
#include <cstring>

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
};
using cudaStream_t = struct CUstream_st*;
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
enum cudaDeviceAttr { cudaDevAttrMaxSharedMemoryPerBlockOptin = 97 };

inline const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess             ? "no error"
         : error == cudaErrorInvalidValue ? "invalid argument"
                                          : "out of memory";
}
inline cudaError_t cudaMalloc(void** memory, size_t bytes) {
  // Allocates exactly `bytes`, so that a sanitizer reports the first byte beyond.
  return posix_memalign(memory, 256, bytes) == 0 ? cudaSuccess : cudaErrorMemoryAllocation;
}
inline cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  if (bytes > 0) std::memcpy(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
// Needs the emulated device. A block's shared memory is what simt::SetMostShared() has set.
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);

#endif  // PENSTOCK_KERNELS_SIMT_EMULATED_RUNTIME_H_
