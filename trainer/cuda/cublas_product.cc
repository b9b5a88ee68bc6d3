#include "trainer/cuda/cublas_product.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "trainer/backend/device/product_forms.h"

namespace penstock {
namespace {

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
// cuBLASLt derives their alignment from it. It is a multiple of 16 bytes, which arenas guarantee,
// but not of 32. So the choice does not depend on the first operation of these sizes.
const void* PromisedAddress() {
  alignas(32) static const char place[32] = {};
  return place + 16;
}

// Restrictions on the algorithm. `set_preference` is cuBLASLt's function.
absl::Status Prefer(decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference,
                    cublasLtMatmulPreference_t preference, size_t workspace_bytes) {
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value,
                       const char* what) {
    return CublasStatus(set_preference(preference, attribute, &value, sizeof(value)), what);
  };
  // The parts of a split sum must be added in one order, in the precision of the sum.
  const uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  absl::Status status =
      set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions, "limiting the reduction schemes");
  status.Update(
      set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes, "limiting the workspace"));
  // cuBLASLt assumes 256 bytes by default, but arenas guarantee only 16.
  for (cublasLtMatmulPreferenceAttributes_t attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    status.Update(set(attribute, uint32_t{16}, "setting the alignment"));
  }
  return status;
}

}  // namespace

absl::Status CublasStatus(cublasStatus_t status, absl::string_view what) {
  if (status == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
  const std::string text =
      absl::StrCat("cuBLASLt: ", what, " failed with status ", static_cast<int>(status));
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE ||
      status == CUBLAS_STATUS_ARCH_MISMATCH) {
    return absl::UnimplementedError(text);
  }
  if (status == CUBLAS_STATUS_ALLOC_FAILED) return absl::ResourceExhaustedError(text);
  return absl::InternalError(text);
}

absl::StatusOr<std::unique_ptr<CublasProduct>> CublasProduct::Describe(
    const CublasLtFunctions& functions, cublasLtHandle_t handle, const DeviceOp& op) {
  std::unique_ptr<CublasProduct> product(new CublasProduct(functions, handle));
  PENSTOCK_RETURN_IF_ERROR(product->Create(op));
  return product;
}

CublasProduct::~CublasProduct() {
  if (desc_ != nullptr) functions_.destroy_desc(desc_);
  for (cublasLtMatrixLayout_t layout : {a_, b_, d_}) {
    if (layout != nullptr) functions_.destroy_layout(layout);
  }
}

// cuBLASLt is column-major: it sees a row-major (r, c) matrix as a (c, r) one with leading
// dimension c. It therefore computes the transpose of each product:
//   forward          y^T (out, rows) = w (out, in) x^T: the weight is stored as (in, out), so op T
//   backward, input  dx^T (in, rows) = w^T dy^T
//   backward, weight dw^T (in, out) += x^T dy: dy is stored as (out, rows), so op T
absl::Status CublasProduct::Create(const DeviceOp& op) {
  const Stored s = StoredOf(op);
  PENSTOCK_RETURN_IF_ERROR(
      CublasStatus(functions_.create_desc(&desc_, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                   "creating a description of the product"));
  PENSTOCK_RETURN_IF_ERROR(CreateLayouts(op));
  PENSTOCK_RETURN_IF_ERROR(Set(CUBLASLT_MATMUL_DESC_TRANSA, s.a_op));
  PENSTOCK_RETURN_IF_ERROR(Set(CUBLASLT_MATMUL_DESC_TRANSB, s.b_op));
  PENSTOCK_RETURN_IF_ERROR(SetEpilogue(op));
  beta_ = op.kind == DeviceOpKind::kLinearBackwardWeight || HasResidual(op) ? 1.0f : 0.0f;
  return absl::OkStatus();
}

absl::Status CublasProduct::CreateLayouts(const DeviceOp& op) {
  const Stored s = StoredOf(op);
  const cudaDataType_t type = op.bf16 ? CUDA_R_16BF : CUDA_R_32F;
  const cudaDataType_t result = op.kind == DeviceOpKind::kLinearBackwardWeight ? CUDA_R_32F : type;
  const auto create = [&](cublasLtMatrixLayout_t& layout, cudaDataType_t of, size_t rows,
                          size_t columns, const char* what) {
    return CublasStatus(functions_.create_layout(&layout, of, rows, columns, int64_t(rows)), what);
  };
  PENSTOCK_RETURN_IF_ERROR(create(a_, type, s.a_rows, s.a_columns, "creating the layout of a"));
  PENSTOCK_RETURN_IF_ERROR(create(b_, type, s.b_rows, s.b_columns, "creating the layout of b"));
  return create(d_, result, s.d_rows, s.d_columns, "creating the layout of d");
}

absl::Status CublasProduct::SetEpilogue(const DeviceOp& op) {
  PENSTOCK_RETURN_IF_ERROR(Set(CUBLASLT_MATMUL_DESC_EPILOGUE, EpilogueOf(op.kind)));
  if (op.kind == DeviceOpKind::kLinear || op.kind == DeviceOpKind::kLinearGelu) {
    PENSTOCK_RETURN_IF_ERROR(Set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, PromisedAddress()));
  }
  if (BeforeGelu(op) == nullptr) return absl::OkStatus();
  PENSTOCK_RETURN_IF_ERROR(Set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, ColumnsBeforeGelu(op)));
  return Set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, PromisedAddress());
}

absl::StatusOr<std::vector<CublasProduct::Algorithm>> CublasProduct::Candidates(
    size_t workspace_bytes) const {
  cublasLtMatmulPreference_t preference = nullptr;
  PENSTOCK_RETURN_IF_ERROR(
      CublasStatus(functions_.create_preference(&preference), "creating a preference"));
  absl::Status status = Prefer(functions_.set_preference, preference, workspace_bytes);
  std::array<cublasLtMatmulHeuristicResult_t, kMostResults> found = {};
  int count = 0;
  if (status.ok()) {
    status = CublasStatus(functions_.heuristic(handle_, desc_, a_, b_, d_, d_, preference,
                                               kMostResults, found.data(), &count),
                          "choosing an algorithm");
  }
  functions_.destroy_preference(preference);
  PENSTOCK_RETURN_IF_ERROR(status);
  std::vector<Algorithm> candidates;
  for (const cublasLtMatmulHeuristicResult_t& result : std::span(found).first(size_t(count))) {
    if (result.state != CUBLAS_STATUS_SUCCESS || result.workspaceSize > workspace_bytes) continue;
    const absl::Status runs = Check(result.algo, workspace_bytes);
    if (runs.ok()) candidates.push_back(result.algo);
    if (!runs.ok() && !absl::IsUnimplemented(runs)) return runs;
  }
  if (!candidates.empty()) return candidates;
  return absl::UnimplementedError("cuBLASLt has no algorithm for this product");
}

absl::Status CublasProduct::Check(const Algorithm& algorithm, size_t workspace_bytes) const {
  cublasLtMatmulHeuristicResult_t result = {};
  PENSTOCK_RETURN_IF_ERROR(CublasStatus(
      functions_.check(handle_, desc_, a_, b_, d_, d_, &algorithm, &result), "the algorithm"));
  if (result.workspaceSize <= workspace_bytes) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat("the algorithm needs ", result.workspaceSize,
                                               " bytes of workspace, but only ", workspace_bytes,
                                               " are available"));
}

// Operands are in the order of DeviceOpKind. cuBLASLt's a is our second operand, except for weight
// gradients.
absl::Status CublasProduct::Run(const DeviceOp& op, const Algorithm& algorithm,
                                cudaStream_t stream) {
  if (const void* before = BeforeGelu(op); before != nullptr) {
    PENSTOCK_RETURN_IF_ERROR(Set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, before));
  }
  if (op.kind == DeviceOpKind::kLinear || op.kind == DeviceOpKind::kLinearGelu) {
    const void* bias = op.operands[2].at;
    PENSTOCK_RETURN_IF_ERROR(Set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias));
  }
  void* d = op.operands[HasResidual(op) ? 3 : op.operands.size() - 1].at;
  const void* c = HasResidual(op) ? op.operands[4].at : d;
  const float alpha = 1;
  return CublasStatus(functions_.matmul(handle_, desc_, &alpha, op.operands[1].at, a_,
                                        op.operands[0].at, b_, &beta_, c, d_, d, d_, &algorithm,
                                        op.workspace.at, op.workspace.bytes, stream),
                      "multiplying");
}

}  // namespace penstock
