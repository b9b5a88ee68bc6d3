// simt.h on a GPU. Compiled by nvcc only.
#ifndef PENSTOCK_KERNELS_SIMT_CUDA_DEVICE_H_
#define PENSTOCK_KERNELS_SIMT_CUDA_DEVICE_H_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/simt/once_per_kernel.h"

#define PENSTOCK_KERNEL __global__
#define PENSTOCK_DEVICE __device__ __forceinline__
#define PENSTOCK_LAUNCH_BOUNDS(threads, blocks) __launch_bounds__(threads, blocks)
// Cannot be combined with launch bounds: nvcc accepts only one of the two.
#define PENSTOCK_MOST_REGISTERS(count) __maxnreg__(count)
#define PENSTOCK_UNROLL _Pragma("unroll")
#define PENSTOCK_NO_UNROLL _Pragma("unroll 1")

namespace penstock::simt {

// A block has 48 KiB of shared memory unless its kernel's attribute allows more.
inline constexpr unsigned kSharedWithoutAsking = 48 * 1024;

// Raises the kernel's limit of shared memory to all that this device has. A launch may need less,
// but a graph that was captured with more must stay valid. The runtime keeps the limit, so it is
// raised once for each kernel and device.
inline cudaError_t AllowAllShared(const void* kernel) {
  static OncePerKernel allowed;
  int device = 0;
  const cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) return error;
  return allowed.Do(device, kernel, [&] {
    int most = 0;
    const cudaError_t asked =
        cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (asked != cudaSuccess) return asked;
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
  });
}

template <typename... Parameters, typename... Arguments>
cudaError_t Launch(void (*kernel)(Parameters...), const Grid& grid, cudaStream_t stream,
                   Arguments... arguments) {
  if (grid.x == 0 || grid.y == 0) return cudaSuccess;
  if (grid.shared > kSharedWithoutAsking) {
    const cudaError_t error = AllowAllShared(reinterpret_cast<const void*>(kernel));
    if (error != cudaSuccess) return error;
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(grid.x, grid.y);
  config.blockDim = dim3(grid.threads);
  config.dynamicSmemBytes = grid.shared;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
}

PENSTOCK_DEVICE unsigned BlockX() { return blockIdx.x; }
PENSTOCK_DEVICE unsigned BlockY() { return blockIdx.y; }
PENSTOCK_DEVICE unsigned GridX() { return gridDim.x; }
PENSTOCK_DEVICE unsigned Thread() { return threadIdx.x; }
PENSTOCK_DEVICE unsigned Threads() { return blockDim.x; }

PENSTOCK_DEVICE unsigned char* Shared() {
  extern __shared__ __align__(16) unsigned char shared[];
  return shared;
}

// From sm_90 on, ptxas 13.0 stays within the registers that kernels may use.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
inline constexpr bool kSaveRegisters = true;
#else
inline constexpr bool kSaveRegisters = false;
#endif

PENSTOCK_DEVICE unsigned Anew(unsigned x) {
  asm volatile("" : "+r"(x));
  return x;
}

PENSTOCK_DEVICE void SyncBlock() { __syncthreads(); }
PENSTOCK_DEVICE void SyncWarp() { __syncwarp(); }

template <typename T>
PENSTOCK_DEVICE T ShuffleXor(T x, unsigned mask) {
  return __shfl_xor_sync(0xffffffffu, x, static_cast<int>(mask));
}
template <typename T>
PENSTOCK_DEVICE T Shuffle(T x, unsigned lane) {
  return __shfl_sync(0xffffffffu, x, static_cast<int>(lane));
}

// Loads four 8x8 matrices of 16-bit values. Lane i passes the address of row i % 8 of matrix i / 8.
// The lane receives in r[m], from row lane / 4 of matrix m, the pair of columns that begins at 2
// (lane % 4).
PENSTOCK_DEVICE void LoadMatrices(uint32_t (&r)[4], const void* row) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

// Like LoadMatrices(), but transposes each matrix.
PENSTOCK_DEVICE void LoadMatricesTransposed(uint32_t (&r)[4], const void* row) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

// c (16x8) += a (16x16) b (16x8), in the fragments of PTX's mma.m16n8k16.
PENSTOCK_DEVICE void MmaBf16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

PENSTOCK_DEVICE void CopyAsync16(void* to, const void* from, bool valid) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  const int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(bytes)
               : "memory");
}
PENSTOCK_DEVICE void CopyAsyncWait() { asm volatile("cp.async.wait_all;" ::: "memory"); }

PENSTOCK_DEVICE float Exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
PENSTOCK_DEVICE float Exp(float x) { return expf(x); }
PENSTOCK_DEVICE float Log(float x) { return logf(x); }
PENSTOCK_DEVICE float Log2(float x) { return log2f(x); }
PENSTOCK_DEVICE float Tanh(float x) { return tanhf(x); }
PENSTOCK_DEVICE float Erfc(float x) { return erfcf(x); }

}  // namespace penstock::simt

#endif  // PENSTOCK_KERNELS_SIMT_CUDA_DEVICE_H_
