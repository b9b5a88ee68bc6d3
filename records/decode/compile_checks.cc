#include "records/decode/compile_checks.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "records/decode/program.h"

namespace penstock {
namespace {

constexpr size_t kMaxNameLength = 128;

bool IsTensorNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

std::string DescribeRange(const VariableUse& use) {
  if (use.min_count == use.max_count) return absl::StrCat("[", use.max_count, "]");
  const std::string most =
      use.max_count == VariableUse::kAny ? "any number" : absl::StrCat(use.max_count);
  return absl::StrCat("[", use.min_count, " to ", most,
                      use.multiple == 1 ? "" : absl::StrCat(" by ", use.multiple), "]");
}

}  // namespace

absl::Status RefuseUnknownFields(const google::protobuf::Message& message) {
  const auto& unknown = message.GetReflection()->GetUnknownFields(message);
  if (unknown.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("field ", unknown.field(0).number(), " of ", message.GetTypeName(),
                   " is unknown to decoder version ", kDecoderVersion,
                   ": the spec was written for a newer Penstock"));
}

absl::Status CheckTensorName(absl::string_view name) {
  if (name.empty()) return absl::InvalidArgumentError("has no name");
  if (name.size() > kMaxNameLength ||
      !std::all_of(name.begin(), name.end(), IsTensorNameCharacter)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a name is at most ", kMaxNameLength, " letters, digits, '_' and '-'"));
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> Product(const google::protobuf::RepeatedField<uint32_t>& sizes,
                               absl::string_view field, size_t limit, absl::string_view unit) {
  if (sizes.size() > kMaxAxes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(field, " has ", sizes.size(), " axes; the limit is ", kMaxAxes));
  }
  size_t product = 1;
  for (const uint32_t size : sizes) {
    if (size == 0) return absl::InvalidArgumentError(absl::StrCat(field, " has an axis of size 0"));
    product *= size;
    if (product > limit) {
      return absl::ResourceExhaustedError(absl::StrCat(field, " [", absl::StrJoin(sizes, ", "),
                                                       "] holds more than ", limit, " ", unit));
    }
  }
  return product;
}

std::string Describe(const FeatureUse& feature) {
  const absl::string_view type = FeatureTypeName(feature.type);
  if (!feature.variable) return absl::StrCat(type, "[", feature.count, "]");
  const VariableUse& use = *feature.variable;
  std::string text =
      absl::StrCat(use.optional ? "optional " : "", use.sequence ? "feature list of " : "",
                   use.list && !use.sequence ? "list of " : "", type, DescribeRange(use));
  if (use.max_bytes != VariableUse::kAny) {
    absl::StrAppend(&text, " of at most ", use.max_bytes, " bytes");
  }
  return text;
}

}  // namespace penstock
