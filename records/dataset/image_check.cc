#include "records/dataset/image_check.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "records/format/example_walk.h"
#include "records/image/image_decoder.h"

namespace penstock {

std::vector<ImageFeature> DefaultImageFeatures(const FeatureSummary& features) {
  std::vector<ImageFeature> images;
  for (const FeatureInfo& feature : features.features) {
    if (HoldsImages(feature)) images.push_back({feature.name});
  }
  return images;
}

namespace {

constexpr absl::string_view kImageFilename = "image/filename";

// Returns the name that the record stores for its image, or an empty string.
absl::string_view StoredName(std::span<const uint8_t> payload) {
  absl::string_view name;
  FeatureLists lists;
  const auto take = [&](const ExampleEntry& entry) {
    if (entry.name != kImageFilename) return;
    if (WalkFeature(entry.feature, nullptr, lists) != nullptr) return;
    if (lists.type != FeatureType::kBytes || lists.lists.empty()) return;
    WalkList(lists.lists[0], lists.type, nullptr, [&](std::span<const uint8_t> value) {
      name = {reinterpret_cast<const char*>(value.data()), value.size()};
    });
  };
  WalkEntries(payload, ExampleMap::kFeatures, nullptr, take);
  return name;
}

// Adds the feature, and the name of the image's file if the record stores it.
absl::Status WithName(const absl::Status& status, const std::string& feature,
                      std::span<const uint8_t> payload) {
  const absl::string_view name = StoredName(payload);
  return Annotate(status, absl::StrCat("feature '", feature, "'",
                                       name.empty() ? "" : absl::StrCat(" of ", name)));
}

}  // namespace

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
        return WithName(result.status(), features_[i].name, payload);
      }
      of_record_.counts.Add(result->notes);
      decoded(i, result->pixels);
    }
  }
  checked_.counts += of_record_.counts;
  return absl::OkStatus();
}

}  // namespace penstock
