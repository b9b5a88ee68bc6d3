#include "trainer/backend/device/gemm_plan.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace penstock {
namespace {

constexpr absl::string_view kKernel = "kernel";

}  // namespace

std::string FormatGemmPlan(const GemmPlan& plan) {
  return absl::StrJoin(plan, "; ", [](std::string* out, const auto& product) {
    const auto& [name, bytes] = product;
    absl::StrAppend(out, name, " ", bytes.empty() ? kKernel : absl::BytesToHexString(bytes));
  });
}

absl::StatusOr<GemmPlan> ParseGemmPlan(absl::string_view text) {
  GemmPlan plan;
  for (const absl::string_view entry : absl::StrSplit(text, "; ", absl::SkipEmpty())) {
    const size_t space = entry.rfind(' ');
    const absl::string_view hex = space == absl::string_view::npos ? "" : entry.substr(space + 1);
    const bool is_hex = !hex.empty() && hex.size() % 2 == 0 &&
                        std::all_of(hex.begin(), hex.end(), absl::ascii_isxdigit);
    const std::string bytes = is_hex ? absl::HexStringToBytes(hex) : "";
    if ((!is_hex && hex != kKernel) ||
        !plan.emplace(std::string(entry.substr(0, space)), bytes).second) {
      return absl::InvalidArgumentError(absl::StrCat("not a GEMM plan: ", entry.substr(0, 80)));
    }
  }
  return plan;
}

bool IsKernel(const GemmPlan& plan, const std::string& product) {
  const auto at = plan.find(product);
  return at != plan.end() && at->second.empty();
}

absl::StatusOr<std::string> AlgorithmOf(const GemmPlan& plan, const std::string& product,
                                        size_t bytes) {
  const auto at = plan.find(product);
  if (at != plan.end() && at->second.size() == bytes) return at->second;
  return absl::FailedPreconditionError(
      absl::StrCat("the GEMM plan has no algorithm of ", bytes, " bytes for ", product));
}

}  // namespace penstock
