// Which algorithm computes each matrix product, as text: what ranks share and checkpoints keep.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_GEMM_PLAN_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_GEMM_PLAN_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

// A product's name, "linear bf16 128x40x32", and the bytes by which the library knows its
// algorithm.
using GemmPlan = std::map<std::string, std::string>;

// "NAME HEX; NAME HEX".
std::string FormatGemmPlan(const GemmPlan& plan);
// kInvalidArgument: it is no such text, or names a product twice.
absl::StatusOr<GemmPlan> ParseGemmPlan(absl::string_view text);

// The algorithm of `product`, of `bytes` bytes. kFailedPrecondition: the plan has none of that
// size.
absl::StatusOr<std::string> AlgorithmOf(const GemmPlan& plan, const std::string& product,
                                        size_t bytes);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_GEMM_PLAN_H_
