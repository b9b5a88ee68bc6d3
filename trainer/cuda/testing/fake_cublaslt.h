// How a test drives the fake cuBLASLt (fake_cublaslt.cc), a library of its own that is found and
// loaded as the real one is.
#ifndef PENSTOCK_TRAINER_CUDA_TESTING_FAKE_CUBLASLT_H_
#define PENSTOCK_TRAINER_CUDA_TESTING_FAKE_CUBLASLT_H_

#include <cublasLt.h>
#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

// A way to compute products, and what it asks for. Sums are taken in `parts`, which are added in
// their order: so the bits are the algorithm's own.
struct FakeAlgorithm {
  uint64_t id;
  // Of A, B, C and D, in bytes, and, up to 16, of their columns.
  std::array<uint32_t, 4> alignments = {1, 1, 1, 1};
  uint32_t vector_alignment = 1;  // Of the bias and of the auxiliary matrix and its columns.
  uint32_t parts = 1;             // Several lie in the workspace, as floats, side by side.
  cublasLtReductionScheme_t reduction = CUBLASLT_REDUCTION_SCHEME_NONE;
  cublasStatus_t state = CUBLAS_STATUS_SUCCESS;  // Of a result of the heuristic.
};

// Thread-safe.
class FakeCublasLt {
 public:
  virtual ~FakeCublasLt() = default;

  // As if it were just loaded, with its own algorithms.
  virtual void Reset() = 0;
  // From now on `function` gives `status`.
  virtual void Fail(const std::string& function, cublasStatus_t status) = 0;
  // Products that end so have no algorithm: what the heuristic gives, success without results too.
  virtual void Refuse(cublasLtEpilogue_t epilogue, cublasStatus_t status) = 0;
  // All there are on this device, the fastest first.
  virtual void SetAlgorithms(std::vector<FakeAlgorithm> algorithms) = 0;

  // Of the products that were queued, in order.
  virtual std::vector<uint64_t> used() = 0;
  // Handles, descriptions, layouts and preferences that nobody has destroyed.
  virtual size_t objects() = 0;
  // Why it last gave an error by itself.
  virtual std::string reason() = 0;

  // Of the library at `path`.
  static FakeCublasLt& At(const char* path) {
    void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    auto* control = reinterpret_cast<FakeCublasLt* (*)()>(dlsym(handle, "FakeCublasLtControl"));
    return *control();
  }
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_TESTING_FAKE_CUBLASLT_H_
