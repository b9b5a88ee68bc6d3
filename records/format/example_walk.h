// The steps by which Examples and SequenceExamples are read. Each returns null, or the byte where
// the record is broken.
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

// An entry of a map, or of one written twice.
struct ExampleEntry {
  absl::string_view name;
  std::span<const uint8_t> feature;  // Or the feature list.
};

// The maps of a record; the value is the number of the field that holds them. A SequenceExample's
// context has the number, and the form, of an Example's features.
enum class ExampleMap : uint32_t { kFeatures = 1, kFeatureLists = 2 };

const uint8_t* WalkEntries(std::span<const uint8_t> payload, ExampleMap map, WireTrace* trace,
                           absl::FunctionRef<void(const ExampleEntry&)> visit);

// Calls `visit` for each step of a feature list, a Feature, and ends early where that returns
// false.
const uint8_t* WalkSteps(std::span<const uint8_t> feature_list, WireTrace* trace,
                         absl::FunctionRef<bool(std::span<const uint8_t>)> visit);

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
