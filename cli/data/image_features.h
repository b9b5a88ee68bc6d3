// Which features of a dataset hold images, and how they are decoded.
#ifndef PENSTOCK_CLI_DATA_IMAGE_FEATURES_H_
#define PENSTOCK_CLI_DATA_IMAGE_FEATURES_H_

#include <string>
#include <vector>

#include "proto/decode_spec.pb.h"
#include "records/dataset/image_check.h"

namespace penstock {

// Those that image operations of `spec` name, each once, with the limits of the strictest of them;
// without such operations DefaultImageFeatures().
std::vector<ImageFeature> ImageFeaturesOf(const v1::DecodeSpec& spec,
                                          const FeatureSummary& features);

// The same of the textproto that a manifest stores, which may be empty or of a newer version: then
// it names none.
std::vector<ImageFeature> ImageFeaturesOfStored(const std::string& spec,
                                                const FeatureSummary& features);

}  // namespace penstock

#endif  // PENSTOCK_CLI_DATA_IMAGE_FEATURES_H_
