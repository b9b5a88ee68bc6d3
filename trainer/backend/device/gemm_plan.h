// The algorithm of each matrix product, as text that ranks share and checkpoints store.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_GEMM_PLAN_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_GEMM_PLAN_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

// Maps a product's name, such as "linear bf16 128x40x32", to the bytes that identify its algorithm
// to the library.
using GemmPlan = std::map<std::string, std::string>;

// "NAME HEX; NAME HEX".
std::string FormatGemmPlan(const GemmPlan& plan);
// kInvalidArgument: the text has another form, or names a product twice.
absl::StatusOr<GemmPlan> ParseGemmPlan(absl::string_view text);

// Returns the algorithm that the plan has for `product`. kFailedPrecondition: the plan has none, or
// one whose size is not `bytes`.
absl::StatusOr<std::string> AlgorithmOf(const GemmPlan& plan, const std::string& product,
                                        size_t bytes);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_GEMM_PLAN_H_
