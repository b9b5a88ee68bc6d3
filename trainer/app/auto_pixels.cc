#include "trainer/app/auto_pixels.h"

#include "absl/strings/str_cat.h"
#include "records/dataset/image_statistics.h"
#include "trainer/app/eval_spec.h"

namespace penstock {

absl::StatusOr<PixelStatistics> AutoPixels(const Manifest& manifest, const v1::DecodeSpec& spec) {
  const v1::Image* image = ImageOf(spec);
  if (image == nullptr) {
    return absl::InvalidArgumentError(
        "--image-mean auto and --image-std auto: the spec does not decode encoded images into "
        "tensor 'image', and the manifest has statistics of encoded images only; give numbers");
  }
  const ImageStatistics statistics = StatisticsFor(manifest, image->feature());
  if (statistics.images > 0) {
    return PixelStatistics{.mean = statistics.mean, .deviation = statistics.deviation};
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--image-mean auto and --image-std auto: the manifest has no statistics of training images "
      "in feature '",
      image->feature(), "': run penstock index DIR --update --statistics, or give numbers"));
}

}  // namespace penstock
