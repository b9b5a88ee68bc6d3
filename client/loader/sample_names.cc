#include "client/loader/sample_names.h"

#include <algorithm>
#include <string>

namespace penstock {
namespace {

bool HasUsualName(const v1::TensorSpec& tensor) {
  if (tensor.has_image()) return tensor.image().feature() == kImageFeature;
  return tensor.has_label() && tensor.label().feature() == kImageLabel;
}

bool HasFeature(const FeatureSummary& features, absl::string_view name) {
  return std::any_of(features.features.begin(), features.features.end(),
                     [name](const FeatureInfo& feature) { return feature.name == name; });
}

}  // namespace

v1::DecodeSpec WithSampleNames(v1::DecodeSpec spec, const FeatureSummary& features) {
  const bool usual = std::all_of(spec.tensor().begin(), spec.tensor().end(), HasUsualName);
  const bool there = HasFeature(features, kImageFeature) || HasFeature(features, kImageLabel);
  if (!usual || there || !HasSampleImages(features)) return spec;
  for (v1::TensorSpec& tensor : *spec.mutable_tensor()) {
    if (tensor.has_image()) {
      tensor.mutable_image()->set_feature(std::string(kSampleImage));
    } else {
      tensor.mutable_label()->set_feature(std::string(kSampleClass));
    }
  }
  return spec;
}

}  // namespace penstock
