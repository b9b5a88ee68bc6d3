// Which feature of a record is wanted, and how many values it may have.
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

// What is allowed of a feature whose length differs from record to record. A count is of values;
// of a bytes feature that is no list, it is of the bytes of its one value.
struct VariableUse {
  static constexpr uint32_t kAny = std::numeric_limits<uint32_t>::max();

  bool optional = false;  // A record may lack it.
  // A feature list of a SequenceExample. The values of its steps follow one another; every step
  // has `multiple` of them.
  bool sequence = false;
  bool list = false;  // Of type bytes: any number of values, instead of exactly one.
  uint32_t min_count = 0;
  uint32_t max_count = kAny;
  uint32_t multiple = 1;      // The count is a multiple of this; at least 1.
  uint32_t max_bytes = kAny;  // Of each value of a list of bytes.

  bool Allows(uint64_t value_count) const {
    return value_count >= min_count && value_count <= max_count && value_count % multiple == 0 &&
           value_count <= kMaxVariableCount;
  }

  friend bool operator==(const VariableUse&, const VariableUse&) = default;
};

// What people call the whole payload of a record that is no Example. A FeatureUse gives it no name.
inline constexpr absl::string_view kRawFeature = "record";

// The alternatives of a name with bars: "jpg|png" stands for the record's feature of this very
// name or, where it has none, for its feature `jpg` or `png`. A record with two of the alternatives
// is an error. None for a name without bars.
std::vector<std::string> AlternativesOf(absl::string_view name);

// Whether a feature of a record may be the one that `name` stands for.
bool StandsFor(absl::string_view name, absl::string_view feature);

struct FeatureUse {
  std::string name;  // Or alternatives. Empty: the record's whole payload, as bytes.
  FeatureType type = FeatureType::kBytes;
  // What every record has: bytes of the one value of a bytes feature, or values. 0 for a variable
  // feature.
  uint32_t count = 0;
  std::optional<VariableUse> variable = {};

  // A SequenceExample may also have a feature of the same name.
  bool is_feature_list() const { return variable && variable->sequence; }

  // What a packed row takes for it: the values as int64, float or bytes, or an entry that says
  // where they are (variable_entry.h).
  size_t row_bytes() const {
    if (variable) return kVariableEntryBytes;
    if (type == FeatureType::kInt64) return sizeof(int64_t) * count;
    return type == FeatureType::kFloat ? sizeof(float) * count : count;
  }
};

// The name that people know the feature by.
inline absl::string_view ShownName(const FeatureUse& feature) {
  return feature.name.empty() ? kRawFeature : absl::string_view(feature.name);
}

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_FEATURE_USE_H_
