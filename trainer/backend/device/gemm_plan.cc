#include "trainer/backend/device/gemm_plan.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace penstock {

std::string FormatGemmPlan(const GemmPlan& plan) {
  return absl::StrJoin(plan, "; ", [](std::string* out, const auto& product) {
    absl::StrAppend(out, product.first, " ", absl::BytesToHexString(product.second));
  });
}

absl::StatusOr<GemmPlan> ParseGemmPlan(absl::string_view text) {
  GemmPlan plan;
  for (const absl::string_view entry : absl::StrSplit(text, "; ", absl::SkipEmpty())) {
    const size_t space = entry.rfind(' ');
    const absl::string_view hex = space == absl::string_view::npos ? "" : entry.substr(space + 1);
    const bool is_hex = !hex.empty() && hex.size() % 2 == 0 &&
                        std::all_of(hex.begin(), hex.end(), absl::ascii_isxdigit);
    if (!is_hex ||
        !plan.emplace(std::string(entry.substr(0, space)), absl::HexStringToBytes(hex)).second) {
      return absl::InvalidArgumentError(absl::StrCat("not a GEMM plan: ", entry.substr(0, 80)));
    }
  }
  return plan;
}

absl::StatusOr<std::string> AlgorithmOf(const GemmPlan& plan, const std::string& product,
                                        size_t bytes) {
  const auto at = plan.find(product);
  if (at != plan.end() && at->second.size() == bytes) return at->second;
  return absl::FailedPreconditionError(
      absl::StrCat("the GEMM plan has no algorithm of ", bytes, " bytes for ", product));
}

}  // namespace penstock
