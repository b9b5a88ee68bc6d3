#include "records/dataset/image_check.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "records/image/image_decoder.h"

namespace penstock {

std::vector<ImageFeature> DefaultImageFeatures(const FeatureSummary& features) {
  std::vector<ImageFeature> images;
  for (const FeatureInfo& feature : features.features) {
    if (HoldsImages(feature)) images.push_back({feature.name});
  }
  return images;
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
      decoder_(std::make_unique<ImageDecoder>()),
      checked_{.sums = std::vector<PixelSums>(features_.size()), .counts = {}} {}
ImageCheck::ImageCheck(ImageCheck&&) noexcept = default;
ImageCheck& ImageCheck::operator=(ImageCheck&&) noexcept = default;
ImageCheck::~ImageCheck() = default;

absl::Status ImageCheck::Check(std::span<const uint8_t> payload) {
  return DecodeAll(payload, [](size_t, const PixelView&) {});
}

absl::Status ImageCheck::Measure(std::span<const uint8_t> payload) {
  of_record_.sums.assign(features_.size(), {});
  PENSTOCK_RETURN_IF_ERROR(DecodeAll(
      payload, [this](size_t i, const PixelView& pixels) { of_record_.sums[i].Add(pixels); }));
  for (size_t i = 0; i < features_.size(); ++i) checked_.sums[i].Add(of_record_.sums[i]);
  return absl::OkStatus();
}

absl::Status ImageCheck::DecodeAll(std::span<const uint8_t> payload,
                                   absl::FunctionRef<void(size_t, const PixelView&)> decoded) {
  PENSTOCK_RETURN_IF_ERROR(finder_.Find(payload, found_));
  of_record_.counts = {};
  for (size_t i = 0; i < features_.size(); ++i) {
    const FoundVariable& found = found_.variable[finder_.slot(i)];
    if (found.type != FeatureType::kBytes) continue;
    for (const std::span<const uint8_t> image : found.runs) {
      const absl::StatusOr<DecodedImage> result = decoder_->Decode(image, features_[i].decode);
      if (!result.ok()) {
        return Annotate(result.status(), absl::StrCat("feature '", features_[i].name, "'"));
      }
      of_record_.counts.Add(result->notes);
      decoded(i, result->pixels);
    }
  }
  checked_.counts += of_record_.counts;
  return absl::OkStatus();
}

}  // namespace penstock
