#include "records/dataset/record_check.h"

#include <algorithm>

#include "base/status.h"

namespace penstock {
namespace {

constexpr int kNotedRecords = 100;

}  // namespace

absl::StatusOr<RecordCheck> RecordCheck::Create(const HoldoutInfo& holdout, bool parse_records) {
  RecordCheck check;
  check.parse_records_ = parse_records;
  if (holdout.threshold > 0) {
    std::vector<FeatureUse> specs;
    check.rule_.emplace(holdout.feature, holdout.threshold, specs);
    PENSTOCK_ASSIGN_OR_RETURN(FeatureFinder finder, FeatureFinder::Create(std::move(specs)));
    check.rule_->Bind(finder);
    check.finder_ = std::move(finder);
    check.found_ = check.finder_->MakeFound();
  }
  return check;
}

absl::Status RecordCheck::Check(std::span<const uint8_t> payload, bool& held) {
  held = false;
  if (parse_records_ || noted_records_ < kNotedRecords) {
    const bool note = noted_records_++ < kNotedRecords;
    absl::Status status = ForEachFeature(payload, [&](const FeatureView& feature) {
      if (note) Note(feature);
    });
    if (parse_records_ && !status.ok()) return status;
  }
  if (!finder_.has_value()) return absl::OkStatus();
  PENSTOCK_RETURN_IF_ERROR(finder_->Find(payload, found_));
  held = rule_->InHoldout(found_);
  return absl::OkStatus();
}

void RecordCheck::Note(const FeatureView& feature) {
  const absl::string_view type = FeatureTypeName(feature.type);
  const bool one_value = feature.type == FeatureType::kBytes && feature.count() == 1;
  const auto length = static_cast<uint32_t>(one_value ? feature.bytes[0].size() : feature.count());
  auto known = std::find_if(features_.begin(), features_.end(), [&](const FeatureInfo& info) {
    return info.name == feature.name && info.type == type;
  });
  if (known == features_.end()) {
    features_.push_back({std::string(feature.name), std::string(type), length, length});
  } else {
    known->min_length = std::min(known->min_length, length);
    known->max_length = std::max(known->max_length, length);
  }
}

}  // namespace penstock
