// Finds the features of a dataset that hold images, and how they are decoded.
#ifndef PENSTOCK_CLI_DATA_IMAGE_FEATURES_H_
#define PENSTOCK_CLI_DATA_IMAGE_FEATURES_H_

#include <string>
#include <vector>

#include "proto/decode_spec.pb.h"
#include "records/dataset/image_check.h"

namespace penstock {

// Returns the features that image operations of `spec` name, each once, with the limits of the
// strictest operation. Without such operations, returns DefaultImageFeatures().
std::vector<ImageFeature> ImageFeaturesOf(const v1::DecodeSpec& spec,
                                          const FeatureSummary& features);

// Like ImageFeaturesOf(), for the textproto that a manifest stores. If that is empty or of a newer
// version, it counts as a spec without image operations.
std::vector<ImageFeature> ImageFeaturesOfStored(const std::string& spec,
                                                const FeatureSummary& features);

}  // namespace penstock

#endif  // PENSTOCK_CLI_DATA_IMAGE_FEATURES_H_
