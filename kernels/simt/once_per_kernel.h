// Work that is done once for each kernel on each device.
#ifndef PENSTOCK_KERNELS_SIMT_ONCE_PER_KERNEL_H_
#define PENSTOCK_KERNELS_SIMT_ONCE_PER_KERNEL_H_

#include <mutex>
#include <set>
#include <utility>

#include "kernels/simt/runtime.h"

namespace penstock::simt {

// Thread-safe.
class OncePerKernel {
 public:
  // Returns the result of `work`, or cudaSuccess if it has succeeded before for this kernel and
  // device.
  template <typename Work>
  cudaError_t Do(int device, const void* kernel, Work work) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (done_.count({device, kernel}) > 0) return cudaSuccess;
    const cudaError_t error = work();
    if (error == cudaSuccess) done_.insert({device, kernel});
    return error;
  }

 private:
  std::mutex mutex_;
  std::set<std::pair<int, const void*>> done_;
};

}  // namespace penstock::simt

#endif  // PENSTOCK_KERNELS_SIMT_ONCE_PER_KERNEL_H_
