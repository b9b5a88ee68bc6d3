// An array in device memory that remembers its initial values.
#ifndef PENSTOCK_KERNELS_CHECK_BENCH_DEVICE_ARRAY_H_
#define PENSTOCK_KERNELS_CHECK_BENCH_DEVICE_ARRAY_H_

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "kernels/simt/runtime.h"

namespace penstock::check_bench {

// Ends the program on an error: after an error of the runtime, no later result can be trusted.
inline void Require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "kernels_check_bench: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

// Thread-compatible.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::vector<T> initial) : initial_(std::move(initial)) {
    void* memory = nullptr;
    Require(cudaMalloc(&memory, initial_.size() * sizeof(T)), "allocating device memory");
    data_ = static_cast<T*>(memory);
    Reset();
  }
  explicit DeviceArray(size_t count) : DeviceArray(std::vector<T>(count)) {}
  ~DeviceArray() { (void)cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return data_; }
  size_t size() const { return initial_.size(); }
  const std::vector<T>& initial() const { return initial_; }

  void Reset() {
    Require(cudaMemcpy(data_, initial_.data(), size() * sizeof(T), cudaMemcpyHostToDevice),
            "copying to the device");
  }
  std::vector<T> Read() const {
    std::vector<T> values(size());
    Require(cudaMemcpy(values.data(), data_, size() * sizeof(T), cudaMemcpyDeviceToHost),
            "copying from the device");
    return values;
  }

 private:
  std::vector<T> initial_;
  T* data_ = nullptr;
};

}  // namespace penstock::check_bench

#endif  // PENSTOCK_KERNELS_CHECK_BENCH_DEVICE_ARRAY_H_
