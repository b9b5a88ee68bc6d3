// Controls for the fake cuBLASLt (fake_cublaslt.cc), a separate library that is found and loaded
// like the real one.
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

// An algorithm and its requirements. Sums are computed in `parts`, which are added in order, so
// that the bits depend on the algorithm.
struct FakeAlgorithm {
  uint64_t id;
  // Alignments of A, B, C and D in bytes. Columns need the same, up to 16.
  std::array<uint32_t, 4> alignments = {1, 1, 1, 1};
  uint32_t vector_alignment = 1;  // That of the bias, the auxiliary matrix and its columns.
  uint32_t parts = 1;             // Several lie side by side in the workspace, as floats.
  cublasLtReductionScheme_t reduction = CUBLASLT_REDUCTION_SCHEME_NONE;
  cublasStatus_t state = CUBLAS_STATUS_SUCCESS;  // The state of the heuristic's result.
  double seconds = 1;           // Time of a product with the epilogue DEFAULT or BIAS.
  double epilogue_seconds = 0;  // Added with other epilogues.
};

// Thread-safe.
class FakeCublasLt {
 public:
  virtual ~FakeCublasLt() = default;

  // Resets the library to its state just after loading, with its own algorithms.
  virtual void Reset() = 0;
  // Makes all later calls of `function` return `status`.
  virtual void Fail(const std::string& function, cublasStatus_t status) = 0;
  // Makes the heuristic return `status` for products with this epilogue, for which there is no
  // algorithm. Success then comes without results.
  virtual void Refuse(cublasLtEpilogue_t epilogue, cublasStatus_t status) = 0;
  // Makes the heuristic return `status` for products with a side of `width`.
  virtual void RefuseWidth(uint64_t width, cublasStatus_t status) = 0;
  // Makes products that add a bias to a matrix C other than D return `status` when they are run,
  // because no description has these addresses.
  virtual void RefuseResiduals(cublasStatus_t status) = 0;
  // Makes products return `status` when they are run with this algorithm.
  virtual void RefuseAlgorithm(uint64_t id, cublasStatus_t status) = 0;
  // Sets all algorithms of this device, the fastest first.
  virtual void SetAlgorithms(std::vector<FakeAlgorithm> algorithms) = 0;

  // The time that products queued so far take together.
  virtual double seconds() = 0;
  // Algorithms of the products queued so far, in order.
  virtual std::vector<uint64_t> used() = 0;
  // Handles, descriptions, layouts and preferences that were not destroyed.
  virtual size_t objects() = 0;
  // The reason for the last error that the fake itself returned.
  virtual std::string reason() = 0;

  // The controls of the library at `path`.
  static FakeCublasLt& At(const char* path) {
    void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    auto* control = reinterpret_cast<FakeCublasLt* (*)()>(dlsym(handle, "FakeCublasLtControl"));
    return *control();
  }
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_TESTING_FAKE_CUBLASLT_H_
