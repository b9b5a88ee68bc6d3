// Decides which records are for training and which are held out.
#ifndef PENSTOCK_RECORDS_DATASET_SPLIT_H_
#define PENSTOCK_RECORDS_DATASET_SPLIT_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

enum class Split : uint8_t { kAll, kTrain, kHoldout };

// Returns "all", "train" or "holdout".
absl::string_view SplitName(Split split);
// Returns kInvalidArgument for an unknown name.
absl::StatusOr<Split> ParseSplit(absl::string_view name);

// The hash that decides, as docs/reference/manifest_format.md defines it. Changing it would move
// records between splits and requires a new manifest version.
uint64_t SplitHash(std::span<const uint8_t> feature_value);

// Returns whether a record is held out, given the bytes of one of its features. Records with equal
// values are always in the same split. `threshold` is the held-out fraction times 2^32.
inline bool InHoldout(std::span<const uint8_t> feature_value, uint32_t threshold) {
  return (SplitHash(feature_value) >> 32) < threshold;
}

// Parses "5%" or "0.05" into a threshold. Returns kInvalidArgument if it is not a fraction in [0,
// 1).
absl::StatusOr<uint32_t> ParseHoldoutThreshold(absl::string_view text);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_SPLIT_H_
