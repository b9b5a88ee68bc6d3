// Describes which feature of a record is wanted, and how many values it may have.
#ifndef PENSTOCK_RECORDS_FORMAT_FEATURE_USE_H_
#define PENSTOCK_RECORDS_FORMAT_FEATURE_USE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "records/format/example.h"
#include "records/format/variable_entry.h"

namespace penstock {

// Limits for a feature whose length may vary between records. Counts are numbers of values. For a
// bytes feature that is no list, they are numbers of bytes of its one value.
struct VariableUse {
  static constexpr uint32_t kAny = std::numeric_limits<uint32_t>::max();

  bool optional = false;  // True if records may lack the feature.
  // True for a feature list of a SequenceExample. The values of its steps are concatenated; each
  // step must have `multiple` values.
  bool sequence = false;
  bool list = false;  // Only for bytes: any number of values instead of exactly one.
  uint32_t min_count = 0;
  uint32_t max_count = kAny;
  uint32_t multiple = 1;      // At least 1; the count must be a multiple of it.
  uint32_t max_bytes = kAny;  // Limit for each value of a list of bytes.

  bool Allows(uint64_t value_count) const {
    return value_count >= min_count && value_count <= max_count && value_count % multiple == 0 &&
           value_count <= kMaxVariableCount;
  }

  friend bool operator==(const VariableUse&, const VariableUse&) = default;
};

// The name that users see for the whole payload of a record that is no Example. In a FeatureUse,
// its name is empty.
inline constexpr absl::string_view kRawFeature = "record";

// Returns the alternatives of a name with bars, or nothing for a name without bars. "jpg|png"
// stands for the feature of exactly this name. If the record has none, it stands for the feature
// `jpg` or `png`. A record with two of the alternatives is an error.
std::vector<std::string> AlternativesOf(absl::string_view name);

// Whether `name` may stand for the feature `feature` of a record.
bool StandsFor(absl::string_view name, absl::string_view feature);

struct FeatureUse {
  std::string name;  // May have alternatives; empty for the whole payload, as bytes.
  FeatureType type = FeatureType::kBytes;
  // The count that every record must have: bytes of the one value of a bytes feature, else values.
  // It is 0 for a variable feature.
  uint32_t count = 0;
  std::optional<VariableUse> variable = {};

  // A SequenceExample may also have a feature of the same name, which is not a feature list.
  bool is_feature_list() const { return variable && variable->sequence; }

  // Bytes that a packed row needs for the feature: the values as int64, float or bytes, or an entry
  // that says where they are (variable_entry.h).
  size_t row_bytes() const {
    if (variable) return kVariableEntryBytes;
    if (type == FeatureType::kInt64) return sizeof(int64_t) * count;
    return type == FeatureType::kFloat ? sizeof(float) * count : count;
  }
};

// The feature's name in messages.
inline absl::string_view ShownName(const FeatureUse& feature) {
  return feature.name.empty() ? kRawFeature : absl::string_view(feature.name);
}

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_FEATURE_USE_H_
