// Tells whether two finders found the same features.
#ifndef PENSTOCK_RECORDS_FORMAT_TESTING_SAME_FEATURES_H_
#define PENSTOCK_RECORDS_FORMAT_TESTING_SAME_FEATURES_H_

#include <algorithm>
#include <span>

#include "records/format/found_features.h"

namespace penstock {

// Compares places in memory, not only bytes.
inline bool SameBytes(std::span<const uint8_t> a, std::span<const uint8_t> b) {
  return a.data() == b.data() && a.size() == b.size();
}

inline bool SameVariable(const FoundVariable& a, const FoundVariable& b) {
  return a.present == b.present && a.type == b.type && a.count == b.count &&
         std::ranges::equal(a.runs, b.runs, SameBytes);
}

inline bool SameFeatures(const FoundFeatures& a, const FoundFeatures& b) {
  return std::ranges::equal(a.bytes, b.bytes, SameBytes) && a.ints == b.ints &&
         a.floats == b.floats && std::ranges::equal(a.variable, b.variable, SameVariable);
}

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_TESTING_SAME_FEATURES_H_
