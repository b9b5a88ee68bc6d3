// Tests the fake cuBLASLt itself: it computes what the manual says, and refuses inconsistent
// descriptions.
#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/cuda/cublaslt_functions.h"
#include "trainer/cuda/cuda_libraries.h"
#include "trainer/cuda/library_search.h"
#include "trainer/cuda/testing/fake_cublaslt.h"

namespace penstock {
namespace {

using testing::HasSubstr;

// A matrix of floats in its own memory. The gaps between its columns hold numbers too.
struct Matrix {
  Matrix(size_t r, size_t c, size_t l) : rows(r), columns(c), ld(l), values(l * c) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>((i * 7 + l) % 11) - 5;
  }
  float at(cublasOperation_t op, size_t row, size_t column) const {
    return op == CUBLAS_OP_N ? values[column * ld + row] : values[row * ld + column];
  }

  size_t rows, columns, ld;
  std::vector<float> values;
  cudaDataType_t type = CUDA_R_32F;
};

// D = 2 op(A) op(B) + C / 2, of size 3 by 4, summed over 5.
struct Described {
  explicit Described(cublasOperation_t of_a = CUBLAS_OP_N, cublasOperation_t of_b = CUBLAS_OP_N)
      : a_op(of_a),
        b_op(of_b),
        a(a_op == CUBLAS_OP_N ? Matrix(3, 5, 6) : Matrix(5, 3, 8)),
        b(b_op == CUBLAS_OP_N ? Matrix(5, 4, 7) : Matrix(4, 5, 4)) {}

  cublasOperation_t a_op, b_op;
  Matrix a, b, c{3, 4, 3}, d{3, 4, 9};
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  std::vector<float> bias = {}, aux = {};
  int64_t aux_ld = 0;
  size_t workspace = 0;
  float alpha = 2, beta = 0.5f;
  bool has_c = true, has_algorithm = true;
};

class FakeCublasLtTest : public testing::Test {
 protected:
  FakeCublasLtTest() {
    fake_.Reset();
    fake_.SetAlgorithms({{.id = 1}});
  }
  ~FakeCublasLtTest() override { EXPECT_EQ(fake_.objects(), 0u); }

  static CublasLtFunctions Load() {
    return CublasLtFunctions(SharedLibrary::Open(CublasLtSpec(), {PENSTOCK_FAKE_CUBLASLT}).value());
  }
  // Returns the status of the heuristic, or, if that succeeds, of the product.
  cublasStatus_t Run(Described& p) {
    cublasLtHandle_t handle = nullptr;
    cublasLtMatmulDesc_t desc = nullptr;
    cublasLtMatmulPreference_t preference = nullptr;
    std::array<cublasLtMatrixLayout_t, 4> layouts;
    f_.create(&handle);
    f_.create_preference(&preference);
    f_.create_desc(&desc, p.compute, CUDA_R_32F);
    const Matrix* const matrices[] = {&p.a, &p.b, &p.c, &p.d};
    for (size_t i = 0; i < 4; ++i) {
      const Matrix& m = *matrices[i];
      f_.create_layout(&layouts[i], m.type, m.rows, m.columns, static_cast<int64_t>(m.ld));
    }
    SetAttributes(p, desc, preference);
    const cublasStatus_t status = Run(p, handle, desc, preference, layouts);
    for (cublasLtMatrixLayout_t layout : layouts) f_.destroy_layout(layout);
    f_.destroy_desc(desc);
    f_.destroy_preference(preference);
    f_.destroy(handle);
    return status;
  }
  void SetAttributes(const Described& p, cublasLtMatmulDesc_t desc,
                     cublasLtMatmulPreference_t preference) {
    auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
      EXPECT_EQ(f_.set_desc(desc, attribute, &value, sizeof(value)), CUBLAS_STATUS_SUCCESS);
    };
    set(CUBLASLT_MATMUL_DESC_TRANSA, p.a_op);
    set(CUBLASLT_MATMUL_DESC_TRANSB, p.b_op);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, p.epilogue);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, p.aux_ld);
    if (!p.bias.empty()) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias.data());
    if (!p.aux.empty()) set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, p.aux.data());
    const uint64_t most = 1 << 20;
    f_.set_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof(most));
  }
  cublasStatus_t Run(Described& p, cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                     cublasLtMatmulPreference_t preference,
                     const std::array<cublasLtMatrixLayout_t, 4>& l) {
    cublasLtMatmulHeuristicResult_t found = {};
    int count = 0;
    const cublasStatus_t chosen =
        f_.heuristic(handle, desc, l[0], l[1], l[2], l[3], preference, 1, &found, &count);
    if (chosen != CUBLAS_STATUS_SUCCESS) return chosen;
    std::vector<float> workspace(p.workspace / sizeof(float));
    return f_.matmul(handle, desc, &p.alpha, p.a.values.data(), l[0], p.b.values.data(), l[1],
                     &p.beta, p.has_c ? p.c.values.data() : nullptr, l[2], p.d.values.data(), l[3],
                     p.has_algorithm ? &found.algo : nullptr,
                     workspace.empty() ? nullptr : workspace.data(), p.workspace, nullptr);
  }
  void ExpectRefused(cublasStatus_t status, const char* reason,
                     const std::function<void(Described&)>& change) {
    Described p;
    change(p);
    EXPECT_EQ(Run(p), status) << reason;
    EXPECT_THAT(fake_.reason(), HasSubstr(reason));
    EXPECT_THAT(fake_.used(), testing::IsEmpty());
  }

  FakeCublasLt& fake_ = FakeCublasLt::At(PENSTOCK_FAKE_CUBLASLT "/libcublasLt.so.13");
  CublasLtFunctions f_ = Load();
};

// The values are whole numbers and halves, so results are exact.
TEST_F(FakeCublasLtTest, ColumnsLieLeadingDimensionsApart) {
  for (const cublasOperation_t a_op : {CUBLAS_OP_N, CUBLAS_OP_T}) {
    for (const cublasOperation_t b_op : {CUBLAS_OP_N, CUBLAS_OP_T}) {
      Described p(a_op, b_op);
      Matrix expected = p.d;
      for (size_t row = 0; row < 3; ++row) {
        for (size_t column = 0; column < 4; ++column) {
          float sum = 0;
          for (size_t k = 0; k < 5; ++k) sum += p.a.at(a_op, row, k) * p.b.at(b_op, k, column);
          expected.values[column * 9 + row] = 2 * sum + p.c.values[column * 3 + row] / 2;
        }
      }
      ASSERT_EQ(Run(p), CUBLAS_STATUS_SUCCESS) << fake_.reason();
      EXPECT_EQ(p.d.values, expected.values);
    }
  }
}

TEST_F(FakeCublasLtTest, WhatDoesNotGoTogetherIsInvalid) {
  const auto invalid = [this](const char* reason, const std::function<void(Described&)>& change) {
    ExpectRefused(CUBLAS_STATUS_INVALID_VALUE, reason, change);
  };
  invalid("rows of op(A) and D", [](Described& p) { p.a_op = CUBLAS_OP_T; });
  invalid("columns of op(B) and D", [](Described& p) { p.b.columns = 3; });
  invalid("what is summed over", [](Described& p) { p.b.rows = 4; });
  invalid("the shape of C", [](Described& p) { p.c.columns = 3; });
  invalid("a leading dimension", [](Described& p) { p.d.ld = 2; });
  invalid("neither N nor T", [](Described& p) { p.b_op = CUBLAS_OP_C; });
  invalid("no bias", [](Described& p) { p.epilogue = CUBLASLT_EPILOGUE_BIAS; });
  invalid("no auxiliary", [](Described& p) { p.epilogue = CUBLASLT_EPILOGUE_DGELU; });
  invalid("of the auxiliary", [](Described& p) {
    p.epilogue = CUBLASLT_EPILOGUE_DGELU;
    p.aux.resize(16);
    p.aux_ld = 4;
  });
  invalid("no matrix C", [](Described& p) { p.has_c = false; });
  invalid("no algorithm", [](Described& p) { p.has_algorithm = false; });
}

TEST_F(FakeCublasLtTest, WhatItDoesNotHaveIsNotSupported) {
  const auto lacks = [this](const char* reason, const std::function<void(Described&)>& change) {
    ExpectRefused(CUBLAS_STATUS_NOT_SUPPORTED, reason, change);
  };
  lacks("sum", [](Described& p) { p.compute = CUBLAS_COMPUTE_32F_FAST_TF32; });
  lacks("types of matrices", [](Described& p) { p.b.type = CUDA_R_16BF; });
  lacks("types of matrices", [](Described& p) { p.c.type = CUDA_R_16BF; });
  lacks("epilogue 130", [](Described& p) { p.epilogue = CUBLASLT_EPILOGUE_RELU_AUX; });
  fake_.SetAlgorithms({{.id = 1, .alignments = {64, 1, 1, 1}}});
  lacks("no algorithm suits", [](Described&) {});
}

TEST_F(FakeCublasLtTest, AWorkspaceMustHoldTheParts) {
  fake_.SetAlgorithms({{.id = 1, .parts = 2}});
  const size_t needed = 2 * 3 * 4 * sizeof(float);
  ExpectRefused(CUBLAS_STATUS_INVALID_VALUE, "a workspace of 92 bytes",
                [&](Described& p) { p.workspace = needed - 4; });
  Described p;
  p.workspace = needed;
  EXPECT_EQ(Run(p), CUBLAS_STATUS_SUCCESS) << fake_.reason();
}

// Returns the statuses of both functions for every attribute that the trainer sets, in every size.
std::vector<int> AnswersOf(const CublasLtFunctions& f) {
  std::vector<int> answers;
  const uint64_t value[2] = {};
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  f.create_desc(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  f.create_preference(&preference);
  for (const size_t size : {0, 1, 2, 4, 8, 16}) {
    for (const auto attribute :
         {CUBLASLT_MATMUL_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSB, CUBLASLT_MATMUL_DESC_EPILOGUE,
          CUBLASLT_MATMUL_DESC_BIAS_POINTER, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER,
          CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD}) {
      answers.push_back(f.set_desc(desc, attribute, value, size));
    }
    for (const auto attribute :
         {CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      answers.push_back(f.set_preference(preference, attribute, value, size));
    }
  }
  answers.push_back(f.set_desc(desc, CUBLASLT_MATMUL_DESC_TRANSA, nullptr, 4));
  f.destroy_desc(desc);
  f.destroy_preference(preference);
  for (const int64_t ld : {8, 4, -8}) {  // Nothing is checked yet.
    cublasLtMatrixLayout_t layout = nullptr;
    answers.push_back(f.create_layout(&layout, CUDA_R_16BF, 8, 0, ld));
    answers.push_back(f.destroy_layout(layout));
  }
  answers.push_back(f.destroy_desc(nullptr));
  return answers;
}

TEST_F(FakeCublasLtTest, SaysWhatTheRealOneSays) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "LeakSanitizer can crash while it scans NVIDIA's libraries";
#endif
#endif
  const auto real =
      SharedLibrary::Open(CublasLtSpec(), LibraryFolders(LibraryEnvironment::FromProcess()));
  if (!real.ok()) GTEST_SKIP() << real.status().message();
  EXPECT_EQ(AnswersOf(f_), AnswersOf(CublasLtFunctions(*real)));
}

}  // namespace
}  // namespace penstock
