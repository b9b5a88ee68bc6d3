// Adapts the built-in image specs to the feature names of a WebDataset.
#ifndef PENSTOCK_CLIENT_LOADER_SAMPLE_NAMES_H_
#define PENSTOCK_CLIENT_LOADER_SAMPLE_NAMES_H_

#include "proto/decode_spec.pb.h"
#include "records/dataset/feature_info.h"

namespace penstock {

// If HasSampleImages() and no record has `image/encoded` or `image/class/label`, a spec whose
// tensors are images of the former and labels of the latter (such as images-train and images-eval)
// reads kSampleImage and kSampleClass instead. Every other spec is returned unchanged, so servers
// see the built-in specs unchanged for all other data.
v1::DecodeSpec WithSampleNames(v1::DecodeSpec spec, const FeatureSummary& features);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_SAMPLE_NAMES_H_
