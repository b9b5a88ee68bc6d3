// The names by which the built-in specs of images read a WebDataset.
#ifndef PENSTOCK_CLIENT_LOADER_SAMPLE_NAMES_H_
#define PENSTOCK_CLIENT_LOADER_SAMPLE_NAMES_H_

#include "proto/decode_spec.pb.h"
#include "records/dataset/feature_info.h"

namespace penstock {

// A spec whose tensors are images of `image/encoded` and labels of `image/class/label`, as those of
// images-train and images-eval are, reads kSampleImage and kSampleClass instead where
// HasSampleImages() and no record has the other two. All else is returned as it is. So servers see
// the built-in specs unchanged for all other data.
v1::DecodeSpec WithSampleNames(v1::DecodeSpec spec, const FeatureSummary& features);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_SAMPLE_NAMES_H_
