#include "records/dataset/record_check.h"

#include <utility>
#include <vector>

#include "base/status.h"

namespace penstock {

absl::StatusOr<RecordCheck> RecordCheck::Create(const HoldoutInfo& holdout, RecordFormat format,
                                                bool parse_records,
                                                const std::vector<ImageFeature>& images) {
  RecordCheck check(format, parse_records);
  if (holdout.threshold > 0) {
    std::vector<FeatureUse> specs;
    check.rule_.emplace(holdout.feature, holdout.threshold, specs);
    PENSTOCK_ASSIGN_OR_RETURN(FeatureFinder finder, FeatureFinder::Create(std::move(specs)));
    check.rule_->Bind(finder);
    check.finder_ = std::move(finder);
    check.found_ = check.finder_->MakeFound();
  }
  if (parse_records && !images.empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(check.images_, ImageCheck::Create(images));
  }
  return check;
}

absl::Status RecordCheck::Check(std::span<const uint8_t> payload, bool& held) {
  held = false;
  if (survey_all_ || !surveyed()) {
    ++tried_records_;
    const absl::Status status = survey_.Add(payload);
    if (parse_records_ && !status.ok()) return status;
  }
  if (images_.has_value()) PENSTOCK_RETURN_IF_ERROR(images_->Check(payload));
  if (!finder_.has_value()) return absl::OkStatus();
  PENSTOCK_RETURN_IF_ERROR(finder_->Find(payload, found_));
  held = rule_->InHoldout(found_);
  return absl::OkStatus();
}

}  // namespace penstock
