// A decode spec to start from, made from the features that records have.
#ifndef PENSTOCK_RECORDS_DATASET_MADE_SPEC_H_
#define PENSTOCK_RECORDS_DATASET_MADE_SPEC_H_

#include <string>

#include "records/dataset/feature_info.h"

namespace penstock {

// The textproto of a DecodeSpec, with a comment for each feature. A single number becomes a label;
// features of images are decoded; other features become tensors of the longest length that was
// seen, rounded up if it varies. What no operation can take is a comment alone.
std::string MakeSpec(const FeatureSummary& summary, RecordFormat format);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_MADE_SPEC_H_
