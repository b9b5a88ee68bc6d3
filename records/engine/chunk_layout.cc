#include "records/engine/chunk_layout.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

// The key contains everything that decides which records are refused, and how the others are
// stored.
std::string KeyOf(const VariableUse& use) {
  return absl::StrCat("~", use.optional, use.sequence, use.list, ":", use.min_count, ":",
                      use.max_count, ":", use.multiple, ":", use.max_bytes, ";");
}

}  // namespace

ChunkLayout::ChunkLayout(std::span<const FeatureUse> features, std::string holdout_feature,
                         uint32_t holdout_threshold)
    : features_(features.begin(), features.end()),
      holdout_feature_(std::move(holdout_feature)),
      holdout_threshold_(holdout_threshold) {
  for (const FeatureUse& feature : features_) {
    offsets_.push_back(row_bytes_);
    row_bytes_ += feature.row_bytes();
    has_variable_ |= feature.variable.has_value();
    // Sizes come before names, so that no name can imitate another key.
    absl::StrAppend(&key_, static_cast<int>(feature.type), ":", feature.count, ":",
                    feature.name.size(), ":", feature.name);
    if (feature.variable) absl::StrAppend(&key_, KeyOf(*feature.variable));
  }
  if (has_holdout()) absl::StrAppend(&key_, "|", holdout_threshold_, ":", holdout_feature_);
}

uint64_t ChunkLayout::ChunkBytes(uint64_t records, uint64_t raw_bytes) const {
  const unsigned __int128 bytes = static_cast<unsigned __int128>(records) * row_bytes_ +
                                  ValueBytes(raw_bytes) + (has_holdout() ? records / 8 + 8 : 0);
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max() / 2;
  return bytes > kMax ? kMax : static_cast<uint64_t>(bytes);
}

}  // namespace penstock
