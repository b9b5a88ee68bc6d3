// The steps that ForEachFeature() and FeatureFinder share. Each returns null, or the byte where the
// record is broken.
#ifndef PENSTOCK_RECORDS_FORMAT_EXAMPLE_WALK_H_
#define PENSTOCK_RECORDS_FORMAT_EXAMPLE_WALK_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "records/format/example.h"
#include "records/format/wire.h"

namespace penstock {

// An entry of the map, or of one written twice.
struct ExampleEntry {
  absl::string_view name;
  std::span<const uint8_t> feature;
};

const uint8_t* WalkEntries(std::span<const uint8_t> payload, WireTrace* trace,
                           absl::FunctionRef<void(const ExampleEntry&)> visit);

// The lists of the kind that counts, whose values follow one another.
struct FeatureLists {
  FeatureType type = FeatureType::kNone;
  std::vector<std::span<const uint8_t>> lists;
};

const uint8_t* WalkFeature(std::span<const uint8_t> feature, WireTrace* trace, FeatureLists& out);

// Calls `visit` for each run of values of a list: one bytes value, a packed run, or one number.
const uint8_t* WalkList(std::span<const uint8_t> list, FeatureType type, WireTrace* trace,
                        absl::FunctionRef<void(std::span<const uint8_t>)> visit);

absl::Status BrokenExample(std::span<const uint8_t> payload, const uint8_t* where);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_EXAMPLE_WALK_H_
