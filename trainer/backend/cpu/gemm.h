// The one door to matrix multiplication on CPUs.
#ifndef PENSTOCK_TRAINER_BACKEND_CPU_GEMM_H_
#define PENSTOCK_TRAINER_BACKEND_CPU_GEMM_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

enum class GemmEngine : uint8_t {
  kOneDnn,
  kOpenBlas,
  kOneDnnBf16,  // Operands rounded to bfloat16 (gemm_bf16.h).
};

// "onednn", or "openblas" where the build has no oneDNN.
absl::string_view DefaultGemm();

// The same in fp32.
GemmEngine DefaultGemmEngine();
// kFailedPrecondition: the build does not have it.
absl::Status CheckGemmEngine(GemmEngine engine);

// "onednn" or "openblas" and "fp32" or "bf16"; kInvalidArgument names them. bf16 needs onednn.
// kFailedPrecondition: this processor or build cannot.
absl::StatusOr<GemmEngine> ParseGemmEngine(absl::string_view name,
                                           absl::string_view precision = "fp32");

struct GemmDescription {
  std::string plan;     // How products are computed: "onednn sgemm, isa 0xfef".
  std::string version;  // "oneDNN 2.6.3".
};
// What the bits of a product depend on besides its shape, on this processor.
GemmDescription DescribeGemm(GemmEngine engine);

enum class Transpose : bool { kNo, kYes };

// A row-major matrix operand: (rows, columns) as stored, before `transpose`.
struct GemmOperand {
  const float* data;
  size_t stride;  // Of a stored row, in floats.
  Transpose transpose = Transpose::kNo;
  const uint16_t* rounded = nullptr;  // The same as bfloat16, for an engine of that; may be null.
};

// c (m, n; row stride n) = a (m, k) b (k, n) + (accumulate ? c : 0), after transposes.
// Runs in the calling thread alone. The bits depend on the shape, the engine and the processor,
// never on the thread. Thread-safe for distinct c.
void Gemm(GemmEngine engine, size_t m, size_t n, size_t k, const GemmOperand& a,
          const GemmOperand& b, bool accumulate, float* c);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_CPU_GEMM_H_
