// The steps in which Examples and SequenceExamples are read. Each function returns null, or the
// byte at which the record is broken. If `trace` is not null, the ranges that decide the structure
// are added to it.
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

// An entry of a map. A map may have several entries of one name.
struct ExampleEntry {
  absl::string_view name;
  std::span<const uint8_t> feature;  // A Feature, or a FeatureList.
};

// The maps of a record; the value is the number of the field that holds the map. The context of a
// SequenceExample has the same number and form as the features of an Example.
enum class ExampleMap : uint32_t { kFeatures = 1, kFeatureLists = 2 };

// Calls `visit` for each entry of a map.
const uint8_t* WalkEntries(std::span<const uint8_t> payload, ExampleMap map, WireTrace* trace,
                           absl::FunctionRef<void(const ExampleEntry&)> visit);

// Calls `visit` with each step of a feature list, which is a Feature. Ends early, with null, if
// `visit` returns false.
const uint8_t* WalkSteps(std::span<const uint8_t> feature_list, WireTrace* trace,
                         absl::FunctionRef<bool(std::span<const uint8_t>)> visit);

// The lists of a Feature's kind. Their values are concatenated.
struct FeatureLists {
  FeatureType type = FeatureType::kNone;
  std::vector<std::span<const uint8_t>> lists;
};

// Fills `out` with the lists of `feature`, and reuses its memory.
const uint8_t* WalkFeature(std::span<const uint8_t> feature, WireTrace* trace, FeatureLists& out);

// Calls `visit` for each run of values in a list: one bytes value, a packed run, or one number.
const uint8_t* WalkList(std::span<const uint8_t> list, FeatureType type, WireTrace* trace,
                        absl::FunctionRef<void(std::span<const uint8_t>)> visit);

// Returns kDataLoss with the offset of `where`, which points into `payload`.
absl::Status BrokenExample(std::span<const uint8_t> payload, const uint8_t* where);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_EXAMPLE_WALK_H_
