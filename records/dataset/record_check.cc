#include "records/dataset/record_check.h"

#include <utility>
#include <vector>

#include "base/status.h"

namespace penstock {

absl::StatusOr<RecordCheck> RecordCheck::Create(const ScanOptions& options) {
  RecordCheck check(options);
  if (options.holdout.threshold > 0) {
    std::vector<FeatureUse> specs;
    check.rule_.emplace(options.holdout.feature, options.holdout.threshold, specs);
    PENSTOCK_ASSIGN_OR_RETURN(FeatureFinder finder, FeatureFinder::Create(std::move(specs)));
    check.rule_->Bind(finder);
    check.finder_ = std::move(finder);
    check.found_ = check.finder_->MakeFound();
  }
  if (options.make_check) {
    PENSTOCK_ASSIGN_OR_RETURN(check.payload_check_, options.make_check());
  }
  if ((options.parse_records || options.measure_images) && !options.images.empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(check.images_, ImageCheck::Create(options.images));
  }
  return check;
}

absl::Status RecordCheck::Check(std::span<const uint8_t> payload, bool& held) {
  const absl::Status status = CheckAll(payload, held);
  if (++checked_records_ == kFirstRecords) first_ = survey_.Summary();
  return status;
}

absl::Status RecordCheck::CheckAll(std::span<const uint8_t> payload, bool& held) {
  held = false;
  const absl::Status parsed = survey_.Read(payload);
  if (parse_records_ && !parsed.ok()) return parsed;
  if (finder_.has_value()) {
    PENSTOCK_RETURN_IF_ERROR(finder_->Find(payload, found_));
    held = rule_->InHoldout(found_);
  }
  if (payload_check_) PENSTOCK_RETURN_IF_ERROR(payload_check_(payload));
  if (images_.has_value()) PENSTOCK_RETURN_IF_ERROR(CheckImages(payload, held));
  if (parsed.ok()) survey_.Keep();  // A record that is left out does not count.
  return absl::OkStatus();
}

absl::Status RecordCheck::CheckImages(std::span<const uint8_t> payload, bool held) {
  if (measure_images_ && !held) return images_->Measure(payload);
  return parse_records_ ? images_->Check(payload) : absl::OkStatus();
}

CheckedImages RecordCheck::checked_images() const {
  return images_.has_value() ? images_->checked() : CheckedImages();
}

void RecordCheck::set_checked_images(CheckedImages checked) {
  if (images_.has_value()) images_->set_checked(std::move(checked));
}

}  // namespace penstock
