#include "trainer/app/auto_pixels.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "records/dataset/image_statistics.h"

namespace penstock {
namespace {

absl::StatusOr<std::string> ImageFeatureOf(const v1::DecodeSpec& spec) {
  for (const v1::TensorSpec& tensor : spec.tensor()) {
    if (tensor.name() == "image" && tensor.has_image()) return tensor.image().feature();
  }
  return absl::InvalidArgumentError(
      "--image-mean auto and --image-std auto: the spec decodes no encoded images to the tensor "
      "image, and of other bytes there are no statistics; give numbers");
}

}  // namespace

absl::StatusOr<PixelStatistics> AutoPixels(const Manifest& manifest, const v1::DecodeSpec& spec) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::string feature, ImageFeatureOf(spec));
  for (const ImageStatistics& statistics : StatisticsOf(manifest)) {
    if (statistics.feature != feature || statistics.images == 0) continue;
    return PixelStatistics{.mean = statistics.mean, .deviation = statistics.deviation};
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--image-mean auto and --image-std auto: the manifest has no statistics of training images "
      "in feature '",
      feature, "': run penstock index DIR --update --statistics, or give numbers"));
}

}  // namespace penstock
