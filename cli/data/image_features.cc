#include "cli/data/image_features.h"

#include <algorithm>

#include "client/loader/dataset_spec.h"
#include "records/decode/image_spec.h"
#include "records/decode/spec.h"

namespace penstock {
namespace {

ImageFeature FeatureOf(const v1::Image& image) {
  ImageFeature feature = {image.feature()};
  feature.decode.fill_truncated = image.truncated() == v1::Image::FILL;
  feature.decode.scale_grey16 = image.grey16() == v1::Image::SCALE;
  feature.decode.limits = LimitsOf(image);
  return feature;
}

// Restricts `feature` to limits that satisfy both.
void Restrict(const ImageFeature& other, ImageFeature& feature) {
  const ImageLimits& theirs = other.decode.limits;
  ImageLimits& limits = feature.decode.limits;
  limits.max_pixels = std::min(limits.max_pixels, theirs.max_pixels);
  limits.max_scans = std::min(limits.max_scans, theirs.max_scans);
  feature.decode.fill_truncated &= other.decode.fill_truncated;
  feature.decode.scale_grey16 &= other.decode.scale_grey16;
}

}  // namespace

std::vector<ImageFeature> ImageFeaturesOf(const v1::DecodeSpec& spec,
                                          const FeatureSummary& features) {
  std::vector<ImageFeature> found;
  for (const v1::TensorSpec& tensor : spec.tensor()) {
    if (!tensor.has_image()) continue;
    const ImageFeature feature = FeatureOf(tensor.image());
    const auto same = std::find_if(found.begin(), found.end(), [&](const ImageFeature& other) {
      return other.name == feature.name;
    });
    if (same == found.end()) {
      found.push_back(feature);
    } else {
      Restrict(feature, *same);
    }
  }
  return found.empty() ? DefaultImageFeatures(features) : found;
}

std::vector<ImageFeature> ImageFeaturesOfStored(const std::string& spec,
                                                const FeatureSummary& features) {
  const absl::StatusOr<v1::DecodeSpec> parsed = ParseSpec(spec, kManifestSpec);
  return ImageFeaturesOf(parsed.ok() ? *parsed : v1::DecodeSpec(), features);
}

}  // namespace penstock
