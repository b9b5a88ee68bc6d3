// Finds records that lack a feature.
#ifndef PENSTOCK_CLI_PACK_FEATURE_FILTER_H_
#define PENSTOCK_CLI_PACK_FEATURE_FILTER_H_

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "records/format/example_walk.h"

namespace penstock {

// Not thread-safe.
class FeatureFilter {
 public:
  explicit FeatureFilter(std::vector<std::string> names) : names_(std::move(names)) {}

  const std::vector<std::string>& names() const { return names_; }

  // Returns whether the record lacks one of the features. A name may also be that of a feature list
  // of a SequenceExample. As in TensorFlow, a feature without a kind is missing; a feature with an
  // empty list is not. kDataLoss: the record is not a tf.train.Example.
  absl::StatusOr<bool> Lacks(std::span<const uint8_t> payload);

 private:
  absl::StatusOr<bool> Has(std::span<const uint8_t> payload, const std::string& name);

  const std::vector<std::string> names_;
  FeatureLists lists_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_FEATURE_FILTER_H_
