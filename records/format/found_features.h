// The features of one record, found but not yet copied.
#ifndef PENSTOCK_RECORDS_FORMAT_FOUND_FEATURES_H_
#define PENSTOCK_RECORDS_FORMAT_FOUND_FEATURES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "records/format/example.h"

namespace penstock {

// A variable feature, as the record encodes it.
struct FoundVariable {
  bool present = false;
  FeatureType type = FeatureType::kNone;  // Of the runs; none where there are none.
  uint32_t count = 0;                     // Of values.
  // They point into the record: one bytes value each, or a run of floats or varints.
  std::vector<std::span<const uint8_t>> runs;

  // As in a record that lacks the feature. Keeps the memory of `runs`.
  void Clear() {
    present = false;
    type = FeatureType::kNone;
    count = 0;
    runs.clear();
  }
};

// FeatureFinder::Find() fills it: values of one type stand in the order of their specs, variable
// features apart.
struct FoundFeatures {
  std::vector<std::span<const uint8_t>> bytes;  // One a bytes feature; points into the record.
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<FoundVariable> variable;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_FOUND_FEATURES_H_
