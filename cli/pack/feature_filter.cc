#include "cli/pack/feature_filter.h"

#include <optional>

#include "base/status.h"

namespace penstock {

absl::StatusOr<bool> FeatureFilter::Lacks(std::span<const uint8_t> payload) {
  for (const std::string& name : names_) {
    PENSTOCK_ASSIGN_OR_RETURN(const bool has, Has(payload, name));
    if (!has) return true;
  }
  return false;
}

absl::StatusOr<bool> FeatureFilter::Has(std::span<const uint8_t> payload, const std::string& name) {
  std::optional<std::span<const uint8_t>> feature;
  const uint8_t* broken =
      WalkEntries(payload, ExampleMap::kFeatures, nullptr, [&](const ExampleEntry& entry) {
        if (entry.name == name) feature = entry.feature;  // The last one counts.
      });
  if (broken == nullptr && feature) broken = WalkFeature(*feature, nullptr, lists_);
  if (broken != nullptr) return BrokenExample(payload, broken);
  if (feature && lists_.type != FeatureType::kNone) return true;
  bool is_list = false;
  broken = WalkEntries(payload, ExampleMap::kFeatureLists, nullptr,
                       [&](const ExampleEntry& entry) { is_list |= entry.name == name; });
  if (broken != nullptr) return BrokenExample(payload, broken);
  return is_list;
}

}  // namespace penstock
