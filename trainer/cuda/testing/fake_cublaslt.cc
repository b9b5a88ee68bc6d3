// A library with the cuBLASLt functions that the trainer uses. It multiplies host memory as
// NVIDIA's header and manual say. On a null stream, a product is computed at once. On a FakeStream,
// it takes its turn, with the addresses and factors of the call.
//
//   FAKE_CUBLASLT_VERSION  result of cublasLtGetVersion(); 130100 if not set
//
// PENSTOCK_FAKE_WITHOUT_CHECK omits cublasLtMatmulAlgoCheck(). Like the real library (13.1, called
// without a GPU), it accepts any value in a description, and checks only the sizes of attributes.
// Inconsistent descriptions are refused when they are used.
#include "trainer/cuda/testing/fake_cublaslt.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "trainer/cuda/testing/fake_product.h"
#include "trainer/cuda/testing/fake_stream.h"

namespace {

using penstock::FakeAlgorithm;
using penstock::FakeCublasLt;
using penstock::FakeStream;
using penstock::cublaslt::Call;
using penstock::cublaslt::Desc;
using penstock::cublaslt::Layout;
using penstock::cublaslt::Problem;

constexpr uint64_t kMagic = 0xfa4ecb1a5;
constexpr uint64_t kWorkspaceAlignment = 16;

// All algorithms before the one with the parts are wrong for the trainer's memory and sums.
const std::vector<FakeAlgorithm> kAlgorithms = {
    {.id = 1, .alignments = {256, 1, 1, 1}},
    {.id = 2, .alignments = {1, 256, 1, 1}},
    {.id = 3, .alignments = {1, 1, 256, 1}},
    {.id = 4, .alignments = {1, 1, 1, 256}},
    {.id = 5, .parts = 3, .reduction = CUBLASLT_REDUCTION_SCHEME_INPLACE},
    {.id = 6, .alignments = {16, 16, 16, 16}, .vector_alignment = 64},
    {.id = 7,
     .alignments = {16, 16, 16, 16},
     .vector_alignment = 16,
     .parts = 2,
     .reduction = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE},
    {.id = 8},
};

struct Preference {
  uint64_t workspace = 0;
  uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
  std::array<uint32_t, 4> alignments = {256, 256, 256, 256};  // Alignments of a, b, c and d.
};

bool IsAligned(const void* address, uint64_t alignment) {
  return reinterpret_cast<uintptr_t>(address) % alignment == 0;
}

class Fake final : public FakeCublasLt {
 public:
  void Reset() override {
    const std::lock_guard lock(mutex_);
    failures_.clear();
    refused_.clear();
    refused_widths_.clear();
    refused_algorithms_.clear();
    residuals_ = CUBLAS_STATUS_SUCCESS;
    algorithms_ = kAlgorithms;
    used_.clear();
    reason_.clear();
  }
  void Fail(const std::string& function, cublasStatus_t status) override {
    const std::lock_guard lock(mutex_);
    failures_[function] = status;
  }
  void Refuse(cublasLtEpilogue_t epilogue, cublasStatus_t status) override {
    const std::lock_guard lock(mutex_);
    refused_[epilogue] = status;
  }
  void RefuseWidth(uint64_t width, cublasStatus_t status) override {
    const std::lock_guard lock(mutex_);
    refused_widths_[width] = status;
  }
  void RefuseResiduals(cublasStatus_t status) override {
    const std::lock_guard lock(mutex_);
    residuals_ = status;
  }
  void RefuseAlgorithm(uint64_t id, cublasStatus_t status) override {
    const std::lock_guard lock(mutex_);
    refused_algorithms_[id] = status;
  }
  void SetAlgorithms(std::vector<FakeAlgorithm> algorithms) override {
    const std::lock_guard lock(mutex_);
    algorithms_ = std::move(algorithms);
  }
  double seconds() override {
    const std::lock_guard lock(mutex_);
    return seconds_;
  }
  std::vector<uint64_t> used() override {
    const std::lock_guard lock(mutex_);
    return used_;
  }
  size_t objects() override {
    const std::lock_guard lock(mutex_);
    return objects_.size();
  }
  std::string reason() override {
    const std::lock_guard lock(mutex_);
    return reason_;
  }

  // Returns the status that `function` was told to return; success if none.
  cublasStatus_t Told(const std::string& function) {
    const std::lock_guard lock(mutex_);
    const auto failure = failures_.find(function);
    return failure == failures_.end() ? CUBLAS_STATUS_SUCCESS : failure->second;
  }
  template <typename T, typename Handle>
  cublasStatus_t Create(Handle* handle, T object) {
    const std::lock_guard lock(mutex_);
    auto* made = new T(object);
    objects_.insert(made);
    *handle = reinterpret_cast<Handle>(made);
    return CUBLAS_STATUS_SUCCESS;
  }
  template <typename T, typename Handle>
  cublasStatus_t Destroy(Handle handle) {
    const std::lock_guard lock(mutex_);
    if (handle == nullptr) return CUBLAS_STATUS_SUCCESS;
    if (objects_.erase(handle) == 0) return Invalid("what is destroyed is not there");
    delete reinterpret_cast<T*>(handle);
    return CUBLAS_STATUS_SUCCESS;
  }
  template <typename T, typename Handle>
  cublasStatus_t Set(Handle handle, void* (*place)(T&, int, size_t&), int attribute,
                     const void* value, size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (objects_.count(handle) == 0 || value == nullptr) return Invalid("no object or no value");
    size_t size = 0;
    void* const to = place(*reinterpret_cast<T*>(handle), attribute, size);
    if (to == nullptr) return Invalid("attribute " + std::to_string(attribute));
    if (bytes != size) return Invalid("size of attribute " + std::to_string(attribute));
    std::memcpy(to, value, size);
    return CUBLAS_STATUS_SUCCESS;
  }

  cublasStatus_t Choose(cublasLtHandle_t handle, const std::array<const void*, 5>& described,
                        cublasLtMatmulPreference_t wanted, int most,
                        cublasLtMatmulHeuristicResult_t* results, int* count) {
    const std::lock_guard lock(mutex_);
    Problem problem;
    const cublasStatus_t status = Describe(handle, described, problem);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    if (objects_.count(wanted) == 0 || most <= 0) return Invalid("no preference or no results");
    const auto refusal = refused_.find(problem.desc.epilogue);
    *count = 0;
    if (refusal != refused_.end()) return refusal->second;
    for (const auto& [width, refused] : refused_widths_) {
      if (problem.m() == width || problem.n() == width || problem.k() == width) return refused;
    }
    const auto& preference = *reinterpret_cast<const Preference*>(wanted);
    for (const FakeAlgorithm& algorithm : algorithms_) {
      if (*count == most) break;
      if (Suits(problem, preference, algorithm)) Write(problem, algorithm, results[(*count)++]);
    }
    return *count > 0 ? CUBLAS_STATUS_SUCCESS : Unsupported("no algorithm suits");
  }
  cublasStatus_t Check(cublasLtHandle_t handle, const std::array<const void*, 5>& described,
                       const cublasLtMatmulAlgo_t* algo, cublasLtMatmulHeuristicResult_t* result) {
    const std::lock_guard lock(mutex_);
    Problem problem;
    FakeAlgorithm algorithm;
    cublasStatus_t status = Describe(handle, described, problem);
    if (status == CUBLAS_STATUS_SUCCESS) status = Find(problem, algo, algorithm);
    if (status == CUBLAS_STATUS_SUCCESS) result->workspaceSize = problem.WorkspaceOf(algorithm);
    result->state = status;
    return status;
  }
  // Finds the parts missing in `call`, which has the addresses.
  cublasStatus_t Prepare(cublasLtHandle_t handle, const std::array<const void*, 5>& described,
                         const cublasLtMatmulAlgo_t* algo, size_t workspace_bytes, Call& call) {
    const std::lock_guard lock(mutex_);
    cublasStatus_t status = Describe(handle, described, call.problem);
    if (status == CUBLAS_STATUS_SUCCESS) status = Find(call.problem, algo, call.algorithm);
    if (status == CUBLAS_STATUS_SUCCESS) status = CheckAddresses(call, workspace_bytes);
    if (status == CUBLAS_STATUS_SUCCESS) status = RefusalOf(call);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    used_.push_back(call.algorithm.id);
    seconds_ += call.algorithm.seconds;
    if (call.problem.has_aux()) seconds_ += call.algorithm.epilogue_seconds;
    return status;
  }
  cublasStatus_t Invalid(const std::string& reason) {
    reason_ = reason;
    return CUBLAS_STATUS_INVALID_VALUE;
  }

 private:
  cublasStatus_t Unsupported(const std::string& reason) {
    reason_ = reason;
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  cublasStatus_t Describe(cublasLtHandle_t handle, const std::array<const void*, 5>& described,
                          Problem& problem) {
    if (objects_.count(handle) == 0) return CUBLAS_STATUS_NOT_INITIALIZED;
    for (const void* object : described) {
      if (objects_.count(object) == 0) return Invalid("a description that is not there");
    }
    problem.desc = *static_cast<const Desc*>(described[0]);
    Layout* const layouts[] = {&problem.a, &problem.b, &problem.c, &problem.d};
    for (size_t i = 0; i < 4; ++i) *layouts[i] = *static_cast<const Layout*>(described[i + 1]);
    const cublasStatus_t shapes = CheckShapes(problem);
    if (shapes != CUBLAS_STATUS_SUCCESS) return shapes;
    const cublasStatus_t types = CheckTypes(problem);
    return types == CUBLAS_STATUS_SUCCESS ? CheckEpilogue(problem) : types;
  }
  cublasStatus_t CheckShapes(const Problem& p) {
    const bool a_as_is = p.desc.a_op == CUBLAS_OP_N, b_as_is = p.desc.b_op == CUBLAS_OP_N;
    if ((!a_as_is && p.desc.a_op != CUBLAS_OP_T) || (!b_as_is && p.desc.b_op != CUBLAS_OP_T)) {
      return Invalid("an operation that is neither N nor T");
    }
    if ((a_as_is ? p.a.rows : p.a.columns) != p.m()) return Invalid("rows of op(A) and D");
    if ((b_as_is ? p.b.columns : p.b.rows) != p.n()) return Invalid("columns of op(B) and D");
    if ((b_as_is ? p.b.rows : p.b.columns) != p.k()) return Invalid("what is summed over");
    if (p.c.rows != p.m() || p.c.columns != p.n()) return Invalid("the shape of C");
    for (const Layout& layout : {p.a, p.b, p.c, p.d}) {
      if (layout.rows == 0 || layout.columns == 0) return Invalid("an empty matrix");
      if (layout.ld < static_cast<int64_t>(layout.rows)) return Invalid("a leading dimension");
    }
    return CUBLAS_STATUS_SUCCESS;
  }
  // Checks the types against the manual's table for cublasLtMatmul(), that is, its rows for bf16
  // and fp32 with fp32 sums.
  cublasStatus_t CheckTypes(const Problem& p) {
    const bool fp32 = p.a.type == CUDA_R_32F && p.d.type == CUDA_R_32F;
    const bool bf16 =
        p.a.type == CUDA_R_16BF && (p.d.type == CUDA_R_16BF || p.d.type == CUDA_R_32F);
    const bool ends_in_gelu = p.has_aux();
    if (p.desc.compute != CUBLAS_COMPUTE_32F || p.desc.scale != CUDA_R_32F) {
      return Unsupported("types of sum and factors");
    }
    if (!(fp32 || bf16) || p.b.type != p.a.type || p.c.type != p.d.type) {
      return Unsupported("types of matrices");
    }
    if (ends_in_gelu && bf16 && p.d.type != CUDA_R_16BF) return Unsupported("a GELU to fp32");
    return CUBLAS_STATUS_SUCCESS;
  }
  cublasStatus_t CheckEpilogue(const Problem& p) {
    switch (p.desc.epilogue) {
      case CUBLASLT_EPILOGUE_DEFAULT:
      case CUBLASLT_EPILOGUE_BIAS:
      case CUBLASLT_EPILOGUE_GELU_AUX:
      case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
      case CUBLASLT_EPILOGUE_DGELU:
        break;
      default:
        return Unsupported("epilogue " + std::to_string(p.desc.epilogue));
    }
    if (p.has_bias() && p.desc.bias == nullptr) return Invalid("no bias");
    if (!p.has_aux()) return CUBLAS_STATUS_SUCCESS;
    if (p.desc.aux == nullptr) return Invalid("no auxiliary matrix");
    if (p.desc.aux_ld % 8 != 0 || p.desc.aux_ld < static_cast<int64_t>(p.m())) {
      return Invalid("leading dimension of the auxiliary matrix");
    }
    return CUBLAS_STATUS_SUCCESS;
  }

  // Whether the columns, and the promised addresses of the epilogue, have the alignment that the
  // algorithm requires.
  static bool IsAlignedFor(const Problem& p, const FakeAlgorithm& algorithm) {
    const Layout* const layouts[] = {&p.a, &p.b, &p.c, &p.d};
    for (size_t i = 0; i < 4; ++i) {
      const uint32_t alignment = std::min(algorithm.alignments[i], 16u);
      if (layouts[i]->column_bytes() % alignment != 0) return false;
    }
    if (p.has_bias() && !IsAligned(p.desc.bias, algorithm.vector_alignment)) return false;
    const size_t aux_bytes = static_cast<size_t>(p.desc.aux_ld) * p.d.element();
    return !p.has_aux() || (IsAligned(p.desc.aux, algorithm.vector_alignment) &&
                            aux_bytes % algorithm.vector_alignment == 0);
  }
  static bool Suits(const Problem& p, const Preference& preference,
                    const FakeAlgorithm& algorithm) {
    for (size_t i = 0; i < 4; ++i) {
      if (preference.alignments[i] < algorithm.alignments[i]) return false;
    }
    const bool reduces = algorithm.reduction == CUBLASLT_REDUCTION_SCHEME_NONE ||
                         (preference.reductions & algorithm.reduction) != 0;
    return reduces && IsAlignedFor(p, algorithm) &&
           p.WorkspaceOf(algorithm) <= preference.workspace;
  }
  static void Write(const Problem& p, const FakeAlgorithm& algorithm,
                    cublasLtMatmulHeuristicResult_t& result) {
    result = {};
    result.algo.data[0] = kMagic;
    result.algo.data[1] = algorithm.id;
    result.algo.data[2] = p.types();
    result.workspaceSize = p.WorkspaceOf(algorithm);
    result.state = algorithm.state;
  }
  cublasStatus_t Find(const Problem& p, const cublasLtMatmulAlgo_t* algo, FakeAlgorithm& found) {
    // The real library would choose an algorithm itself.
    if (algo == nullptr) return Invalid("no algorithm");
    if (algo->data[0] != kMagic || algo->data[2] != p.types()) {
      return Invalid("an algorithm of another product");
    }
    for (const FakeAlgorithm& algorithm : algorithms_) {
      if (algorithm.id != algo->data[1]) continue;
      if (!IsAlignedFor(p, algorithm)) return Unsupported("alignment of columns or vectors");
      found = algorithm;
      return CUBLAS_STATUS_SUCCESS;
    }
    return Unsupported("an algorithm that this device lacks");
  }
  cublasStatus_t CheckAddresses(const Call& call, size_t workspace_bytes) {
    if (call.a == nullptr || call.b == nullptr || call.d == nullptr) return Invalid("no matrix");
    if (call.c == nullptr && call.beta != 0) return Invalid("no matrix C");
    const char* const matrices[] = {call.a, call.b, call.c, call.d};
    for (size_t i = 0; i < 4; ++i) {
      if (!IsAligned(matrices[i], call.algorithm.alignments[i])) {
        return Unsupported("alignment of a matrix");
      }
    }
    const size_t needed = call.problem.WorkspaceOf(call.algorithm);
    if (workspace_bytes > 0 && call.workspace == nullptr) return Invalid("no workspace");
    if (workspace_bytes < needed || !IsAligned(call.workspace, kWorkspaceAlignment)) {
      return Invalid("a workspace of " + std::to_string(workspace_bytes) + " bytes");
    }
    return CUBLAS_STATUS_SUCCESS;
  }

  cublasStatus_t RefusalOf(const Call& call) const {
    const auto refusal = refused_algorithms_.find(call.algorithm.id);
    if (refusal != refused_algorithms_.end()) return refusal->second;
    const bool onto = call.beta != 0 && call.c != call.d && call.problem.has_bias();
    return onto ? residuals_ : CUBLAS_STATUS_SUCCESS;
  }

  std::mutex mutex_;
  std::map<std::string, cublasStatus_t> failures_;
  std::map<uint64_t, cublasStatus_t> refused_widths_, refused_algorithms_;
  cublasStatus_t residuals_ = CUBLAS_STATUS_SUCCESS;
  double seconds_ = 0;
  std::map<uint32_t, cublasStatus_t> refused_;
  std::vector<FakeAlgorithm> algorithms_ = kAlgorithms;
  std::set<const void*> objects_;
  std::vector<uint64_t> used_;
  std::string reason_;
};

Fake& TheFake() {
  static Fake fake;
  return fake;
}

// Returns the address of an attribute; null if this library does not know it.
void* PlaceInDesc(Desc& desc, int attribute, size_t& size) {
  auto place = [&](auto& value) -> void* {
    size = sizeof(value);
    return &value;
  };
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return place(desc.a_op);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return place(desc.b_op);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return place(desc.epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return place(desc.bias);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
      return place(desc.aux);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
      return place(desc.aux_ld);
    default:
      return nullptr;
  }
}

void* PlaceInPreference(Preference& preference, int attribute, size_t& size) {
  constexpr int kFirst = CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) {
    size = sizeof(preference.workspace);
    return &preference.workspace;
  }
  size = sizeof(uint32_t);
  if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) return &preference.reductions;
  const bool alignment = attribute >= kFirst && attribute < kFirst + 4;
  return alignment ? &preference.alignments[static_cast<size_t>(attribute - kFirst)] : nullptr;
}

void Queue(const Call& call, FakeStream* stream) {
  if (stream == nullptr || !stream->queue) return call.Run();
  stream->queue({[call] { call.Run(); }, [] { return true; }});
}

}  // namespace

#define FAIL_IF_TOLD(function)                                                               \
  if (const cublasStatus_t told = TheFake().Told(function); told != CUBLAS_STATUS_SUCCESS) { \
    return told;                                                                             \
  }

extern "C" {

FakeCublasLt* FakeCublasLtControl() { return &TheFake(); }

size_t cublasLtGetVersion() {
  const char* text = std::getenv("FAKE_CUBLASLT_VERSION");
  return text == nullptr ? 130100 : std::strtoull(text, nullptr, 10);
}
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  FAIL_IF_TOLD("cublasLtCreate");
  return TheFake().Create(handle, 0);
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return TheFake().Destroy<int>(handle); }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  FAIL_IF_TOLD("cublasLtMatmulDescCreate");
  return TheFake().Create(desc, Desc{compute, scale});
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  return TheFake().Destroy<Desc>(desc);
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  FAIL_IF_TOLD("cublasLtMatmulDescSetAttribute");
  return TheFake().Set<Desc>(desc, PlaceInDesc, attribute, value, bytes);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t ld) {
  FAIL_IF_TOLD("cublasLtMatrixLayoutCreate");
  return TheFake().Create(layout, Layout{type, rows, columns, ld});
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return TheFake().Destroy<Layout>(layout);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  FAIL_IF_TOLD("cublasLtMatmulPreferenceCreate");
  return TheFake().Create(preference, Preference{});
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return TheFake().Destroy<Preference>(preference);
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, size_t bytes) {
  FAIL_IF_TOLD("cublasLtMatmulPreferenceSetAttribute");
  return TheFake().Set<Preference>(preference, PlaceInPreference, attribute, value, bytes);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int most,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* count) {
  FAIL_IF_TOLD("cublasLtMatmulAlgoGetHeuristic");
  return TheFake().Choose(handle, {desc, a, b, c, d}, preference, most, results, count);
}
#if !defined(PENSTOCK_FAKE_WITHOUT_CHECK)
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t* algo,
                                       cublasLtMatmulHeuristicResult_t* result) {
  FAIL_IF_TOLD("cublasLtMatmulAlgoCheck");
  return TheFake().Check(handle, {desc, a, b, c, d}, algo, result);
}
#endif
cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algo,
                              void* workspace, size_t workspace_bytes, cudaStream_t stream) {
  FAIL_IF_TOLD("cublasLtMatmul");
  if (alpha == nullptr || beta == nullptr) return TheFake().Invalid("no factor");
  Call call = {.problem = {},
               .algorithm = {},
               .alpha = *static_cast<const float*>(alpha),
               .beta = *static_cast<const float*>(beta),
               .a = static_cast<const char*>(a),
               .b = static_cast<const char*>(b),
               .c = static_cast<const char*>(c),
               .d = static_cast<char*>(d),
               .workspace = static_cast<float*>(workspace)};
  const cublasStatus_t status = TheFake().Prepare(
      handle, {desc, a_layout, b_layout, c_layout, d_layout}, algo, workspace_bytes, call);
  if (status == CUBLAS_STATUS_SUCCESS) Queue(call, reinterpret_cast<FakeStream*>(stream));
  return status;
}

}  // extern "C"
