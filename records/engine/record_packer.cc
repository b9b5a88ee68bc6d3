#include "records/engine/record_packer.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "records/dataset/split.h"

namespace penstock {
namespace {

// Where the layout's features stand in the finder's specs: in order, the holdout feature after
// them unless it is one of them.
size_t HoldoutSpec(const ChunkLayout& layout) {
  size_t i = 0;
  for (const FeatureUse& feature : layout.features()) {
    if (feature.name == layout.holdout_feature()) return i;
    ++i;
  }
  return i;
}

}  // namespace

absl::StatusOr<RecordPacker> RecordPacker::Create(const ChunkLayout& layout) {
  std::vector<FeatureUse> specs;
  for (const FeatureUse& feature : layout.features()) {
    specs.push_back({feature.name, feature.type, feature.count});
  }
  if (layout.has_holdout()) {
    const size_t holdout = HoldoutSpec(layout);
    if (holdout == specs.size()) {
      specs.push_back({layout.holdout_feature(), FeatureType::kBytes, 0});
    } else if (specs[holdout].type != FeatureType::kBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("the split is decided by feature '", layout.holdout_feature(),
                       "', which the decode spec reads as ", FeatureTypeName(specs[holdout].type),
                       ": it must be bytes"));
    }
  }
  PENSTOCK_ASSIGN_OR_RETURN(FeatureFinder finder, FeatureFinder::Create(std::move(specs)));
  return RecordPacker(std::move(finder), layout);
}

RecordPacker::RecordPacker(FeatureFinder finder, const ChunkLayout& layout)
    : finder_(std::move(finder)),
      found_(finder_.MakeFound()),
      holdout_threshold_(layout.holdout_threshold()) {
  for (size_t i = 0; i < layout.features().size(); ++i) {
    const FeatureUse& feature = layout.features()[i];
    copies_.push_back(
        {feature.type, finder_.slot(i), layout.feature_offset(i), feature.row_bytes()});
  }
  if (layout.has_holdout()) holdout_slot_ = finder_.slot(HoldoutSpec(layout));
}

absl::StatusOr<bool> RecordPacker::Pack(std::span<const uint8_t> payload, uint8_t* row) {
  PENSTOCK_RETURN_IF_ERROR(finder_.Find(payload, found_));
  for (const Copy& copy : copies_) {
    const void* from = nullptr;
    if (copy.type == FeatureType::kBytes) from = found_.bytes[copy.slot].data();
    if (copy.type == FeatureType::kInt64) from = &found_.ints[copy.slot];
    if (copy.type == FeatureType::kFloat) from = &found_.floats[copy.slot];
    std::memcpy(row + copy.offset, from, copy.size);
  }
  return holdout_slot_ && InHoldout(found_.bytes[*holdout_slot_], holdout_threshold_);
}

}  // namespace penstock
