#include "trainer/cuda/cublas_gemm.h"

#include <array>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "trainer/backend/device/gemm_plan.h"
#include "trainer/cuda/cublaslt_functions.h"
#include "trainer/cuda/cuda_libraries.h"
#include "trainer/cuda/library_search.h"

namespace penstock {

// cuBLASLt is column-major: it sees a row-major (r, c) matrix as a (c, r) one with leading
// dimension c. It therefore computes the transpose of each product:
//   forward          y^T (out, rows) = w (out, in) x^T: the weight is stored as (in, out), so op T
//   backward, input  dx^T (in, rows) = w^T dy^T
//   backward, weight dw^T (in, out) += x^T dy: dy is stored as (out, rows), so op T
struct CublasGemm::Product {
  explicit Product(const CublasLtFunctions& f) : functions(f) {}
  ~Product() {
    if (desc != nullptr) functions.destroy_desc(desc);
    for (cublasLtMatrixLayout_t layout : {a, b, d}) {
      if (layout != nullptr) functions.destroy_layout(layout);
    }
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  const CublasLtFunctions& functions;
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;  // c has the layout of d.
  cublasLtMatmulAlgo_t algorithm = {};
  float beta = 0;
};

namespace {

// Number of algorithms to ask for. The fastest usable one is taken, which is nearly always the
// first.
constexpr int kMostResults = 8;

// The operands for cuBLASLt: (m, k) by (k, n), as stored.
struct Stored {
  size_t a_rows, a_columns, b_rows, b_columns, d_rows, d_columns;
  cublasOperation_t a_op, b_op;
};

Stored StoredOf(const DeviceOp& op) {
  switch (op.kind) {
    case DeviceOpKind::kLinearBackwardInput:
    case DeviceOpKind::kLinearBackwardGelu:
      return {op.in, op.out, op.out, op.rows, op.in, op.rows, CUBLAS_OP_N, CUBLAS_OP_N};
    case DeviceOpKind::kLinearBackwardWeight:
      return {op.in, op.rows, op.out, op.rows, op.in, op.out, CUBLAS_OP_N, CUBLAS_OP_T};
    default:
      return {op.in, op.out, op.in, op.rows, op.out, op.rows, CUBLAS_OP_T, CUBLAS_OP_N};
  }
}

cublasLtEpilogue_t EpilogueOf(DeviceOpKind kind) {
  if (kind == DeviceOpKind::kLinear) return CUBLASLT_EPILOGUE_BIAS;
  if (kind == DeviceOpKind::kLinearGelu) return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
  if (kind == DeviceOpKind::kLinearBackwardGelu) return CUBLASLT_EPILOGUE_DGELU;
  return CUBLASLT_EPILOGUE_DEFAULT;
}

// The input of GELU, which the forward epilogue writes and the backward epilogue reads: the
// operand, or null, and its number of columns.
const void* BeforeGelu(const DeviceOp& op) {
  if (op.kind == DeviceOpKind::kLinearGelu) return op.operands[3].at;
  return op.kind == DeviceOpKind::kLinearBackwardGelu ? op.operands[2].at : nullptr;
}

int64_t ColumnsBeforeGelu(const DeviceOp& op) {
  return static_cast<int64_t>(op.kind == DeviceOpKind::kLinearGelu ? op.out : op.in);
}

// The address of the epilogue's vectors that is used to choose or check an algorithm, because
// cuBLASLt derives their alignment from it. It is a multiple of 16 bytes and no more, which arenas
// guarantee, independent of the first operation of these sizes.
const void* PromisedAddress() {
  alignas(32) static const char place[32] = {};
  return place + 16;
}

bool HasResidual(const DeviceOp& op) {
  return op.kind == DeviceOpKind::kLinear && op.operands.size() > 4;
}

absl::Status Check(cublasStatus_t status, absl::string_view what) {
  if (status == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
  const std::string text =
      absl::StrCat("cuBLASLt: ", what, " failed with status ", static_cast<int>(status));
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return absl::UnimplementedError(text);
  if (status == CUBLAS_STATUS_ALLOC_FAILED) return absl::ResourceExhaustedError(text);
  return absl::InternalError(text);
}

// Sets the restrictions on the algorithm. `set_preference` is cuBLASLt's function.
absl::Status Prefer(decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference,
                    cublasLtMatmulPreference_t preference) {
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value,
                       const char* what) {
    return Check(set_preference(preference, attribute, &value, sizeof(value)), what);
  };
  // The parts of a split sum must be added in one order, in the precision of the sum.
  const uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  absl::Status status =
      set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions, "limiting the reduction schemes");
  status.Update(set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, size_t{CublasGemm::kWorkspaceBytes},
                    "limiting the workspace"));
  // By default cuBLASLt would assume 256 bytes; arenas guarantee 16.
  for (cublasLtMatmulPreferenceAttributes_t attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    status.Update(set(attribute, uint32_t{16}, "setting the alignment"));
  }
  return status;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CublasGemm>> CublasGemm::Open() {
  return OpenFrom(CublasLtSpec(), LibraryFolders(LibraryEnvironment::FromProcess()));
}

absl::StatusOr<std::unique_ptr<CublasGemm>> CublasGemm::OpenFrom(
    const LibrarySpec& spec, const std::vector<std::string>& folders) {
  PENSTOCK_ASSIGN_OR_RETURN(SharedLibrary library, SharedLibrary::Open(spec, folders));
  std::unique_ptr<CublasGemm> gemm(new CublasGemm(std::move(library)));
  cublasLtHandle_t handle = nullptr;
  PENSTOCK_RETURN_IF_ERROR(Check(gemm->functions_->create(&handle), "cublasLtCreate"));
  gemm->handle_ = handle;
  return gemm;
}

CublasGemm::CublasGemm(SharedLibrary library)
    : library_(std::move(library)), functions_(std::make_unique<CublasLtFunctions>(library_)) {}

CublasGemm::~CublasGemm() {
  products_.clear();
  if (handle_ != nullptr) functions_->destroy(static_cast<cublasLtHandle_t>(handle_));
}

CublasGemm::Key CublasGemm::KeyOf(const DeviceOp& op) {
  return {op.kind, op.bf16, HasResidual(op), op.rows, op.in, op.out};
}

absl::StatusOr<std::unique_ptr<CublasGemm::Product>> CublasGemm::Describe(
    const DeviceOp& op) const {
  const CublasLtFunctions& f = *functions_;
  auto product = std::make_unique<Product>(f);
  const Stored s = StoredOf(op);
  const bool accumulates = op.kind == DeviceOpKind::kLinearBackwardWeight;
  const cudaDataType_t type = op.bf16 ? CUDA_R_16BF : CUDA_R_32F;
  const cudaDataType_t result = accumulates ? CUDA_R_32F : type;
  const cublasLtEpilogue_t epilogue = EpilogueOf(op.kind);
  PENSTOCK_RETURN_IF_ERROR(Check(f.create_desc(&product->desc, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                                 "creating a description of the product"));
  PENSTOCK_RETURN_IF_ERROR(
      Check(f.create_layout(&product->a, type, s.a_rows, s.a_columns, int64_t(s.a_rows)),
            "creating the layout of a"));
  PENSTOCK_RETURN_IF_ERROR(
      Check(f.create_layout(&product->b, type, s.b_rows, s.b_columns, int64_t(s.b_rows)),
            "creating the layout of b"));
  PENSTOCK_RETURN_IF_ERROR(
      Check(f.create_layout(&product->d, result, s.d_rows, s.d_columns, int64_t(s.d_rows)),
            "creating the layout of d"));
  auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    return Check(f.set_desc(product->desc, attribute, &value, sizeof(value)),
                 "setting an attribute");
  };
  PENSTOCK_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_TRANSA, s.a_op));
  PENSTOCK_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_TRANSB, s.b_op));
  PENSTOCK_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue));
  if (op.kind == DeviceOpKind::kLinear || op.kind == DeviceOpKind::kLinearGelu) {
    PENSTOCK_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, PromisedAddress()));
  }
  if (BeforeGelu(op) != nullptr) {
    PENSTOCK_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, ColumnsBeforeGelu(op)));
    PENSTOCK_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, PromisedAddress()));
  }
  product->beta = accumulates || HasResidual(op) ? 1.0f : 0.0f;
  return product;
}

absl::Status CublasGemm::Choose(Product& product, bool gelu) const {
  const CublasLtFunctions& f = *functions_;
  cublasLtMatmulPreference_t preference = nullptr;
  PENSTOCK_RETURN_IF_ERROR(Check(f.create_preference(&preference), "creating a preference"));
  absl::Status status = Prefer(f.set_preference, preference);
  std::array<cublasLtMatmulHeuristicResult_t, kMostResults> found = {};
  int count = 0;
  if (status.ok()) {
    const cublasStatus_t chosen =
        f.heuristic(static_cast<cublasLtHandle_t>(handle_), product.desc, product.a, product.b,
                    product.d, product.d, preference, kMostResults, found.data(), &count);
    // For GELU, some releases report missing support for these types as an invalid value. For any
    // other product an invalid value is our bug.
    const bool lacks_it = gelu && chosen == CUBLAS_STATUS_INVALID_VALUE;
    status = Check(lacks_it ? CUBLAS_STATUS_NOT_SUPPORTED : chosen, "choosing an algorithm");
  }
  f.destroy_preference(preference);
  PENSTOCK_RETURN_IF_ERROR(status);
  for (const cublasLtMatmulHeuristicResult_t& result : std::span(found).first(size_t(count))) {
    if (result.state != CUBLAS_STATUS_SUCCESS || result.workspaceSize > kWorkspaceBytes) continue;
    product.algorithm = result.algo;
    return absl::OkStatus();
  }
  return absl::UnimplementedError("cuBLASLt has no algorithm for this product");
}

absl::Status CublasGemm::Prepare(const DeviceOp& op) {
  // The epilogue's tanh may be the GPU's approximation, which is off by 5e-4. That is mere rounding
  // in bf16, but an error in fp32.
  const bool gelu = BeforeGelu(op) != nullptr;
  if (gelu && !op.bf16)
    return absl::UnimplementedError("cuBLASLt's fused GELU is not exact enough for fp32");
  const Key key = KeyOf(op);
  if (products_.contains(key)) return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<Product> product, Describe(op));
  PENSTOCK_RETURN_IF_ERROR(Choose(*product, gelu));
  products_[key] = std::move(product);
  return absl::OkStatus();
}

absl::Status CublasGemm::Run(const DeviceOp& op, cudaStream_t stream) {
  const auto at = products_.find(KeyOf(op));
  if (at == products_.end()) return absl::InternalError("a product was run that was not prepared");
  Product& product = *at->second;
  auto set = [&](cublasLtMatmulDescAttributes_t attribute, const void* pointer) {
    return Check(functions_->set_desc(product.desc, attribute, &pointer, sizeof(pointer)),
                 "setting an address");
  };
  // Operands are in the order of DeviceOpKind. cuBLASLt's a is our second operand, except for
  // weight gradients.
  const void *a = op.operands[1].at, *b = op.operands[0].at, *c = nullptr;
  void* d = nullptr;
  if (const void* before = BeforeGelu(op); before != nullptr) {
    PENSTOCK_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, before));
  }
  switch (op.kind) {
    case DeviceOpKind::kLinearBackwardInput:
    case DeviceOpKind::kLinearBackwardWeight:
      d = op.operands[2].at;
      break;
    case DeviceOpKind::kLinearBackwardGelu:
      d = op.operands[3].at;
      break;
    case DeviceOpKind::kLinearGelu:
      PENSTOCK_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, op.operands[2].at));
      d = op.operands[4].at;
      break;
    default:
      PENSTOCK_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, op.operands[2].at));
      d = op.operands[3].at;
      if (HasResidual(op)) c = op.operands[4].at;
      break;
  }
  const float alpha = 1;
  return Check(
      functions_->matmul(static_cast<cublasLtHandle_t>(handle_), product.desc, &alpha, a, product.a,
                         b, product.b, &product.beta, c == nullptr ? d : c, product.d, d, product.d,
                         &product.algorithm, op.workspace.at, op.workspace.bytes, stream),
      "multiplying");
}

std::string CublasGemm::math_library() const {
  return absl::StrCat("cuBLASLt ", CublasLtSpec().print(library_.version()));
}

std::string CublasGemm::NameOf(const Key& key) {
  const auto& [kind, bf16, residual, rows, in, out] = key;
  return absl::StrCat(DeviceOpName(kind), bf16 ? " bf16 " : " fp32 ", residual ? "onto " : "", rows,
                      "x", in, "x", out);
}

std::string CublasGemm::Plan() const {
  GemmPlan plan;
  for (const auto& [key, product] : products_) {
    plan[NameOf(key)] = {reinterpret_cast<const char*>(product->algorithm.data),
                         sizeof(product->algorithm.data)};
  }
  return FormatGemmPlan(plan);
}

absl::Status CublasGemm::CheckAlgorithm(const Product& product, const void* algorithm) const {
  cublasLtMatmulHeuristicResult_t result = {};
  const cublasStatus_t status = functions_->check(
      static_cast<cublasLtHandle_t>(handle_), product.desc, product.a, product.b, product.d,
      product.d, static_cast<const cublasLtMatmulAlgo_t*>(algorithm), &result);
  if (status != CUBLAS_STATUS_SUCCESS) {
    return absl::FailedPreconditionError(
        absl::StrCat("this rank's cuBLASLt or GPU cannot run the planned algorithm (status ",
                     static_cast<int>(status), ")"));
  }
  if (result.workspaceSize <= kWorkspaceBytes) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the planned algorithm needs ", result.workspaceSize,
                   " bytes of workspace, but only ", kWorkspaceBytes, " are available"));
}

absl::Status CublasGemm::Adopt(absl::string_view plan) {
  if (plan == Plan()) return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(const GemmPlan parsed, ParseGemmPlan(plan));
  std::vector<cublasLtMatmulAlgo_t> algorithms;
  for (const auto& [key, product] : products_) {
    cublasLtMatmulAlgo_t& algorithm = algorithms.emplace_back();
    PENSTOCK_ASSIGN_OR_RETURN(const std::string bytes,
                              AlgorithmOf(parsed, NameOf(key), sizeof(algorithm.data)));
    std::memcpy(algorithm.data, bytes.data(), bytes.size());
    PENSTOCK_RETURN_IF_ERROR(Annotate(CheckAlgorithm(*product, &algorithm), NameOf(key)));
  }
  auto next = algorithms.begin();
  for (auto& [key, product] : products_) product->algorithm = *next++;
  return absl::OkStatus();
}

}  // namespace penstock
