// The features of one record, found but not copied.
#ifndef PENSTOCK_RECORDS_FORMAT_FOUND_FEATURES_H_
#define PENSTOCK_RECORDS_FORMAT_FOUND_FEATURES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "records/format/example.h"

namespace penstock {

// A variable feature, as it is encoded in the record.
struct FoundVariable {
  bool present = false;
  FeatureType type = FeatureType::kNone;  // Type of the runs; kNone if there are none.
  uint32_t count = 0;                     // Number of values.
  // The runs point into the record. Each is one bytes value, or a run of floats or varints.
  std::vector<std::span<const uint8_t>> runs;

  // Resets to a feature that the record lacks. Keeps the memory of `runs`.
  void Clear() {
    present = false;
    type = FeatureType::kNone;
    count = 0;
    runs.clear();
  }
};

// Filled by FeatureFinder::Find(). The values of each type are in the order of their specs.
// Variable features are separate.
struct FoundFeatures {
  std::vector<std::span<const uint8_t>> bytes;  // One per bytes feature; points into the record.
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<FoundVariable> variable;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_FOUND_FEATURES_H_
