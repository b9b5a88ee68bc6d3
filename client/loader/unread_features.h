// Which features of a dataset a decode spec does not read.
#ifndef PENSTOCK_CLIENT_LOADER_UNREAD_FEATURES_H_
#define PENSTOCK_CLIENT_LOADER_UNREAD_FEATURES_H_

#include <string>
#include <vector>

#include "proto/decode_spec.pb.h"
#include "records/dataset/feature_info.h"

namespace penstock {

// "extra", "list words"; none if the spec does not compile.
std::vector<std::string> UnreadBySpec(const v1::DecodeSpec& spec, const FeatureSummary& features);

// "not read by the spec: extra, list words", the first 16; empty if it reads all.
std::string UnreadNote(const v1::DecodeSpec& spec, const FeatureSummary& features);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_UNREAD_FEATURES_H_
