#include "records/engine/record_packer.h"

#include <cstring>
#include <utility>

#include "base/status.h"
#include "records/format/variable_entry.h"
#include "records/format/wire.h"

namespace penstock {
namespace {

uint8_t* CopyTo(std::span<const uint8_t> bytes, uint8_t* to) {
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  return to + bytes.size();
}

// Writes the bytes of `variable` to `values`, and its entry to `entry`. Returns the end of the
// bytes.
uint8_t* PackVariable(const FoundVariable& variable, bool list_of_bytes, uint8_t* entry,
                      uint8_t* values) {
  uint8_t* end = values;
  for (const std::span<const uint8_t> run : variable.runs) {
    if (list_of_bytes) end = WriteVarint(run.size(), end);
    end = CopyTo(run, end);
  }
  const std::span<const uint8_t> bytes(values, static_cast<size_t>(end - values));
  StoreVariable({variable.present, variable.count, bytes}, entry);
  return end;
}

}  // namespace

absl::StatusOr<RecordPacker> RecordPacker::Create(const ChunkLayout& layout) {
  std::vector<FeatureUse> specs(layout.features().begin(), layout.features().end());
  std::optional<HoldoutRule> holdout;
  if (layout.has_holdout()) {
    holdout.emplace(layout.holdout_feature(), layout.holdout_threshold(), specs);
  }
  PENSTOCK_ASSIGN_OR_RETURN(FeatureFinder finder, FeatureFinder::Create(std::move(specs)));
  return RecordPacker(std::move(finder), layout, std::move(holdout));
}

RecordPacker::RecordPacker(FeatureFinder finder, const ChunkLayout& layout,
                           std::optional<HoldoutRule> holdout)
    : finder_(std::move(finder)), found_(finder_.MakeFound()), holdout_(std::move(holdout)) {
  for (size_t i = 0; i < layout.features().size(); ++i) {
    const FeatureUse& feature = layout.features()[i];
    const size_t slot = finder_.slot(i), offset = layout.feature_offset(i);
    if (feature.variable) {
      const bool list_of_bytes = feature.type == FeatureType::kBytes && feature.variable->list;
      variable_copies_.push_back({slot, offset, list_of_bytes});
    } else {
      AddCopy({feature.type, slot, offset, feature.row_bytes()});
    }
  }
  if (holdout_) holdout_->Bind(finder_);
}

// Numbers that are adjacent both in the row and among the found values are merged into one copy.
void RecordPacker::AddCopy(const Copy& copy) {
  if (!copies_.empty() && copy.type != FeatureType::kBytes) {
    Copy& last = copies_.back();
    const size_t value_bytes = copy.type == FeatureType::kInt64 ? sizeof(int64_t) : sizeof(float);
    const bool follows =
        copy.offset == last.offset + last.size && copy.slot == last.slot + last.size / value_bytes;
    if (last.type == copy.type && follows) {
      last.size += copy.size;
      return;
    }
  }
  copies_.push_back(copy);
}

absl::StatusOr<bool> RecordPacker::Pack(std::span<const uint8_t> payload, uint8_t* row,
                                        uint8_t*& values) {
  PENSTOCK_RETURN_IF_ERROR(finder_.Find(payload, found_));
  for (const Copy& copy : copies_) {
    const void* from = nullptr;
    if (copy.type == FeatureType::kBytes) from = found_.bytes[copy.slot].data();
    if (copy.type == FeatureType::kInt64) from = &found_.ints[copy.slot];
    if (copy.type == FeatureType::kFloat) from = &found_.floats[copy.slot];
    std::memcpy(row + copy.offset, from, copy.size);
  }
  for (const VariableCopy& copy : variable_copies_) {
    values =
        PackVariable(found_.variable[copy.slot], copy.list_of_bytes, row + copy.offset, values);
  }
  return holdout_ && holdout_->InHoldout(found_);
}

}  // namespace penstock
