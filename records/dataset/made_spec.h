// Makes a decode spec to start from, given the features of the records.
#ifndef PENSTOCK_RECORDS_DATASET_MADE_SPEC_H_
#define PENSTOCK_RECORDS_DATASET_MADE_SPEC_H_

#include <string>

#include "records/dataset/feature_info.h"

namespace penstock {

// Returns the textproto of a DecodeSpec, with a comment for each feature. A single number becomes a
// label. Features with images are decoded. Other features become tensors of the greatest length
// seen, rounded up if it varies. A feature that no operation can take is only mentioned in a
// comment.
std::string MakeSpec(const FeatureSummary& summary, RecordFormat format);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_MADE_SPEC_H_
