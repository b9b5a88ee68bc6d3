// Which records are for training and which are held out.
#ifndef PENSTOCK_RECORDS_DATASET_SPLIT_H_
#define PENSTOCK_RECORDS_DATASET_SPLIT_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

enum class Split : uint8_t { kAll, kTrain, kHoldout };

// "all", "train", "holdout".
absl::string_view SplitName(Split split);
absl::StatusOr<Split> ParseSplit(absl::string_view name);

// The hash that decides: docs/reference/manifest_format.md defines it; a change here moves records
// between splits and needs a new manifest version.
uint64_t SplitHash(std::span<const uint8_t> feature_value);

// Whether a record is held out, by the bytes of one of its features, so that equal values never
// straddle the split. `threshold` is the fraction times 2^32.
inline bool InHoldout(std::span<const uint8_t> feature_value, uint32_t threshold) {
  return (SplitHash(feature_value) >> 32) < threshold;
}

// "5%" or "0.05" as a threshold. kInvalidArgument: not a fraction in [0, 1).
absl::StatusOr<uint32_t> ParseHoldoutThreshold(absl::string_view text);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_SPLIT_H_
