#include "records/format/feature_use.h"

#include <algorithm>

#include "absl/strings/str_split.h"

namespace penstock {

std::vector<std::string> AlternativesOf(absl::string_view name) {
  std::vector<std::string> alternatives;
  if (name.find('|') == absl::string_view::npos) return alternatives;
  for (const absl::string_view part : absl::StrSplit(name, '|', absl::SkipEmpty())) {
    const bool twice =
        std::find(alternatives.begin(), alternatives.end(), part) != alternatives.end();
    if (!twice) alternatives.emplace_back(part);
  }
  return alternatives;
}

bool StandsFor(absl::string_view name, absl::string_view feature) {
  if (name == feature) return true;
  const std::vector<std::string> alternatives = AlternativesOf(name);
  return std::find(alternatives.begin(), alternatives.end(), feature) != alternatives.end();
}

}  // namespace penstock
