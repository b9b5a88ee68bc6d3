#include "records/dataset/image_check.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "records/image/image_decoder.h"

namespace penstock {

std::vector<ImageFeature> DefaultImageFeatures(const FeatureSummary& features) {
  for (const FeatureInfo& feature : features.features) {
    if (feature.name == "image/encoded" && feature.type == "bytes" && !feature.feature_list) {
      return {{feature.name}};
    }
  }
  return {};
}

absl::StatusOr<ImageCheck> ImageCheck::Create(std::vector<ImageFeature> features) {
  std::vector<FeatureUse> uses;
  for (const ImageFeature& feature : features) {
    uses.push_back(
        {feature.name, FeatureType::kNone, 0, VariableUse{.optional = true, .list = true}});
  }
  PENSTOCK_ASSIGN_OR_RETURN(FeatureFinder finder, FeatureFinder::Create(std::move(uses)));
  return ImageCheck(std::move(features), std::move(finder));
}

ImageCheck::ImageCheck(std::vector<ImageFeature> features, FeatureFinder finder)
    : features_(std::move(features)),
      finder_(std::move(finder)),
      found_(finder_.MakeFound()),
      decoder_(std::make_unique<ImageDecoder>()) {}
ImageCheck::ImageCheck(ImageCheck&&) noexcept = default;
ImageCheck& ImageCheck::operator=(ImageCheck&&) noexcept = default;
ImageCheck::~ImageCheck() = default;

absl::Status ImageCheck::Check(std::span<const uint8_t> payload) {
  PENSTOCK_RETURN_IF_ERROR(finder_.Find(payload, found_));
  for (size_t i = 0; i < features_.size(); ++i) {
    const FoundVariable& found = found_.variable[finder_.slot(i)];
    if (found.type != FeatureType::kBytes) continue;
    for (const std::span<const uint8_t> image : found.runs) {
      const absl::Status status = decoder_->Decode(image, features_[i].decode).status();
      if (!status.ok()) return Annotate(status, absl::StrCat("feature '", features_[i].name, "'"));
    }
  }
  return absl::OkStatus();
}

}  // namespace penstock
