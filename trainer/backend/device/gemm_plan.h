// The algorithm of each matrix product, as text that ranks share and checkpoints store.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_GEMM_PLAN_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_GEMM_PLAN_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

// Maps a product's name, "linear bf16 128x40x32", to the bytes that identify its algorithm to the
// library. Empty bytes: a kernel of ours computes it.
using GemmPlan = std::map<std::string, std::string>;

// Returns "NAME HEX; NAME HEX; NAME kernel".
std::string FormatGemmPlan(const GemmPlan& plan);
// kInvalidArgument: the text has another form, or names a product twice.
absl::StatusOr<GemmPlan> ParseGemmPlan(absl::string_view text);

// Whether a kernel of ours computes `product`.
bool IsKernel(const GemmPlan& plan, const std::string& product);

// The algorithm of `product`, which must have `bytes` bytes. kFailedPrecondition: the plan has none
// of that size.
absl::StatusOr<std::string> AlgorithmOf(const GemmPlan& plan, const std::string& product,
                                        size_t bytes);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_GEMM_PLAN_H_
