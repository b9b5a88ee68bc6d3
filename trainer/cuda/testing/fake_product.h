// A product as described to the fake cuBLASLt, and its computation.
#ifndef PENSTOCK_TRAINER_CUDA_TESTING_FAKE_PRODUCT_H_
#define PENSTOCK_TRAINER_CUDA_TESTING_FAKE_PRODUCT_H_

#include <cublasLt.h>

#include <cstddef>
#include <cstdint>

#include "kernels/numeric/bf16.h"
#include "kernels/reference/activation.h"
#include "trainer/cuda/testing/fake_cublaslt.h"

namespace penstock::cublaslt {

// The target of cublasLtMatmulDesc_t.
struct Desc {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  int32_t a_op = CUBLAS_OP_N, b_op = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const char* bias = nullptr;
  char* aux = nullptr;
  int64_t aux_ld = 0;
};

// A matrix whose columns are `ld` elements apart.
struct Layout {
  cudaDataType_t type;
  uint64_t rows, columns;
  int64_t ld;

  size_t element() const { return type == CUDA_R_16BF ? 2 : 4; }
  size_t column_bytes() const { return static_cast<size_t>(ld) * element(); }
};

// D = epilogue(alpha op(A) op(B) + beta C), as described.
struct Problem {
  Desc desc;
  Layout a, b, c, d;

  uint64_t m() const { return d.rows; }
  uint64_t n() const { return d.columns; }
  uint64_t k() const { return desc.a_op == CUBLAS_OP_N ? a.columns : a.rows; }
  bool has_bias() const { return (desc.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0; }
  bool has_aux() const { return (desc.epilogue & 128) != 0; }  // CUBLASLT_EPILOGUE_..._AUX.
  size_t WorkspaceOf(const FakeAlgorithm& algorithm) const {
    return algorithm.parts > 1 ? algorithm.parts * m() * n() * sizeof(float) : 0;
  }
  // An algorithm supports only these types.
  uint64_t types() const {
    return static_cast<uint64_t>(a.type) | static_cast<uint64_t>(d.type) << 16 |
           static_cast<uint64_t>(desc.compute) << 32;
  }
};

inline float Load(const char* from, cudaDataType_t type, size_t index) {
  if (type != CUDA_R_16BF) return reinterpret_cast<const float*>(from)[index];
  return ToFloat(reinterpret_cast<const Bf16*>(from)[index]);
}

inline void Store(char* to, cudaDataType_t type, size_t index, float value) {
  if (type != CUDA_R_16BF) {
    reinterpret_cast<float*>(to)[index] = value;
  } else {
    reinterpret_cast<Bf16*>(to)[index] = FromFloat<Bf16>(value);
  }
}

// A valid product, ready to be computed.
struct Call {
  Problem problem;
  FakeAlgorithm algorithm;
  float alpha, beta;
  const char *a, *b, *c;
  char* d;
  float* workspace;

  void Run() const {
    for (size_t part = 0; part < algorithm.parts; ++part) {
      ForEach([&](size_t row, size_t column) {
        if (algorithm.parts > 1) *PartOf(part, row, column) = Sum(part, row, column);
      });
    }
    ForEach([&](size_t row, size_t column) { Finish(row, column); });
  }

 private:
  template <typename F>
  void ForEach(F work) const {
    for (size_t column = 0; column < problem.n(); ++column) {
      for (size_t row = 0; row < problem.m(); ++row) work(row, column);
    }
  }
  float* PartOf(size_t part, size_t row, size_t column) const {
    return workspace + (part * problem.n() + column) * problem.m() + row;
  }
  float Sum(size_t part, size_t row, size_t column) const {
    const size_t end = problem.k() * (part + 1) / algorithm.parts;
    const auto a_ld = static_cast<size_t>(problem.a.ld), b_ld = static_cast<size_t>(problem.b.ld);
    float sum = 0;
    for (size_t k = problem.k() * part / algorithm.parts; k < end; ++k) {
      const size_t in_a = problem.desc.a_op == CUBLAS_OP_N ? k * a_ld + row : row * a_ld + k;
      const size_t in_b = problem.desc.b_op == CUBLAS_OP_N ? column * b_ld + k : k * b_ld + column;
      sum += Load(a, problem.a.type, in_a) * Load(b, problem.b.type, in_b);
    }
    return sum;
  }
  float SumOfParts(size_t row, size_t column) const {
    if (algorithm.parts == 1) return Sum(0, row, column);
    float sum = 0;
    for (size_t part = 0; part < algorithm.parts; ++part) sum += *PartOf(part, row, column);
    return sum;
  }
  void Finish(size_t row, size_t column) const {
    const auto c_ld = static_cast<size_t>(problem.c.ld), d_ld = static_cast<size_t>(problem.d.ld);
    float value = alpha * SumOfParts(row, column);
    // With a factor of 0, C is not read.
    if (beta != 0) value += beta * Load(c, problem.c.type, column * c_ld + row);
    if (problem.has_bias()) value += Load(problem.desc.bias, problem.d.type, row);
    Store(d, problem.d.type, column * d_ld + row, EndIn(value, row, column));
  }
  float EndIn(float value, size_t row, size_t column) const {
    if (!problem.has_aux()) return value;
    const size_t at = column * static_cast<size_t>(problem.desc.aux_ld) + row;
    constexpr auto kForm = reference::GeluForm::kTanh;
    if (problem.desc.epilogue == CUBLASLT_EPILOGUE_DGELU) {
      const float before = Load(problem.desc.aux, problem.d.type, at);
      return value * reference::GeluSlope(before, kForm);
    }
    Store(problem.desc.aux, problem.d.type, at, value);
    return reference::GeluValue(value, kForm);
  }
};

}  // namespace penstock::cublaslt

#endif  // PENSTOCK_TRAINER_CUDA_TESTING_FAKE_PRODUCT_H_
