#include "records/dataset/holdout_rule.h"

#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "records/dataset/split.h"
#include "records/format/wire.h"

namespace penstock {
namespace {

// Accepts any number of values of any type, but at least one.
FeatureUse AnyFeature(const std::string& name) {
  return {name, FeatureType::kNone, 0, VariableUse{.list = true, .min_count = 1}};
}

void AppendInts(std::span<const uint8_t> varints, std::vector<uint8_t>& out) {
  ForEachVarint(varints, [&out](uint64_t value) {
    const std::span<const uint8_t> bytes = BytesOf(&value, sizeof(value));
    out.insert(out.end(), bytes.begin(), bytes.end());
  });
}

// Returns the number of records that have a value of the feature.
uint64_t RecordsWith(const std::string& feature, const FeatureSummary& features, bool list) {
  uint64_t records = 0;
  for (const FeatureInfo& info : features.features) {
    if (!StandsFor(feature, info.name)) continue;
    if (info.feature_list != list || info.values.max == 0) continue;
    records += info.records;
  }
  return records;
}

}  // namespace

absl::Status CheckHoldoutFeature(const std::string& feature, const FeatureSummary& features) {
  if (features.features.empty()) return absl::OkStatus();
  const uint64_t with = RecordsWith(feature, features, /*list=*/false);
  if (with >= features.records) return absl::OkStatus();
  std::string why =
      absl::StrCat(features.records - with, " of the first ", features.records, " records lack it");
  if (with == 0) {
    const bool list = RecordsWith(feature, features, /*list=*/true) > 0;
    why = list ? "it is a feature list" : "the records lack it";
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "feature '", feature, "' cannot decide the holdout split, because ", why,
      ". Choose another with --holdout-feature; there are ", NamesOf(features.features)));
}

HoldoutRule::HoldoutRule(const std::string& feature, uint32_t threshold,
                         std::vector<FeatureUse>& specs)
    : threshold_(threshold) {
  for (; spec_ < specs.size(); ++spec_) {
    const FeatureUse& use = specs[spec_];
    if (use.name != feature || use.type != FeatureType::kBytes) continue;
    // The payload is one value, even if another spec allows its length to vary.
    variable_ = use.variable.has_value();
    if (!variable_ || feature.empty()) return;
  }
  variable_ = !feature.empty();
  specs.push_back(variable_ ? AnyFeature(feature) : FeatureUse{"", FeatureType::kBytes, 0});
}

bool HoldoutRule::InHoldout(const FoundFeatures& found) {
  const std::span<const uint8_t> value =
      variable_ ? Value(found.variable[slot_]) : found.bytes[slot_];
  return penstock::InHoldout(value, threshold_);
}

std::span<const uint8_t> HoldoutRule::Value(const FoundVariable& variable) {
  const bool several = variable.type == FeatureType::kBytes && variable.count != 1;
  if (variable.runs.size() == 1 && variable.type != FeatureType::kInt64 && !several) {
    return variable.runs[0];
  }
  value_.clear();
  for (const std::span<const uint8_t> run : variable.runs) {
    if (variable.type == FeatureType::kInt64) {
      AppendInts(run, value_);
      continue;
    }
    if (several) AppendVarint(run.size(), value_);
    value_.insert(value_.end(), run.begin(), run.end());
  }
  return value_;
}

}  // namespace penstock
