// Lists the features of a dataset that a decode spec does not read.
#ifndef PENSTOCK_CLIENT_LOADER_UNREAD_FEATURES_H_
#define PENSTOCK_CLIENT_LOADER_UNREAD_FEATURES_H_

#include <string>
#include <vector>

#include "proto/decode_spec.pb.h"
#include "records/dataset/feature_info.h"

namespace penstock {

// Returns names such as "extra", "list words"; empty if the spec does not compile.
std::vector<std::string> UnreadBySpec(const v1::DecodeSpec& spec, const FeatureSummary& features);

// Returns "not read by the spec: extra, list words", with at most 16 names; empty if the spec reads
// all features.
std::string UnreadNote(const v1::DecodeSpec& spec, const FeatureSummary& features);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_UNREAD_FEATURES_H_
