// The only entry point to matrix multiplication on CPUs.
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
  kOneDnnBf16,  // Rounds operands to bfloat16 (gemm_bf16.h).
};

// "onednn", or "openblas" if the build has no oneDNN.
absl::string_view DefaultGemm();

// The default engine in fp32.
GemmEngine DefaultGemmEngine();
// kFailedPrecondition: the build does not have `engine`.
absl::Status CheckGemmEngine(GemmEngine engine);

// Parses "onednn" or "openblas" and "fp32" or "bf16"; bf16 needs onednn. kInvalidArgument: another
// name; the message has the valid ones. kFailedPrecondition: this processor or build lacks the
// engine.
absl::StatusOr<GemmEngine> ParseGemmEngine(absl::string_view name,
                                           absl::string_view precision = "fp32");

struct GemmDescription {
  std::string plan;     // How products are computed: "onednn sgemm, isa 0xfef".
  std::string version;  // "oneDNN 2.6.3".
};
// Describes everything that the bits of a product depend on, on this processor, besides its shape.
GemmDescription DescribeGemm(GemmEngine engine);

enum class Transpose : bool { kNo, kYes };

// A row-major matrix operand: (rows, columns) as stored, before `transpose`.
struct GemmOperand {
  const float* data;
  size_t stride;  // Distance of stored rows, in floats.
  Transpose transpose = Transpose::kNo;
  // The values as bfloat16, for an engine that uses them; may be null.
  const uint16_t* rounded = nullptr;
};

// c (m, n; row stride n) = a (m, k) b (k, n) + (accumulate ? c : 0), after transposes. Runs in the
// calling thread only. The bits depend on the shape, the engine and the processor, never on the
// thread. Thread-safe for distinct c.
void Gemm(GemmEngine engine, size_t m, size_t n, size_t k, const GemmOperand& a,
          const GemmOperand& b, bool accumulate, float* c);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_CPU_GEMM_H_
