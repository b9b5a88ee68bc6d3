#include "records/container/sample_name.h"

#include "absl/strings/match.h"

namespace penstock {
namespace {

bool IsMeta(absl::string_view path) {
  const absl::string_view top = path.substr(0, path.find('/'));
  return top.size() >= 4 && absl::StartsWith(top, "__") && absl::EndsWith(top, "__");
}

}  // namespace

std::optional<SampleName> SplitSampleName(absl::string_view path) {
  if (IsMeta(path)) return std::nullopt;
  const size_t begin = path.rfind('/') + 1;  // 0 if there is no slash.
  const size_t dot = path.find('.', begin);
  if (dot == path.npos || dot == begin || dot + 1 == path.size()) return std::nullopt;
  return SampleName{path.substr(0, dot), path.substr(dot + 1)};
}

}  // namespace penstock
