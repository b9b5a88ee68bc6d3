#include "trainer/app/image_options.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace penstock {
namespace {

absl::Status OfImages(absl::string_view option, const ModelConfig& model) {
  return absl::InvalidArgumentError(
      absl::StrCat(option, " is of images, and --model ", model.name, " is of boards"));
}

}  // namespace

void AddImageOptions(CLI::App& app, ImageFlags& flags) {
  app.add_option("--image-mean", flags.mean,
                 "Mean of the pixels' red, green and blue, from 0 to 1, which is subtracted");
  app.add_option("--image-std", flags.deviation,
                 "Their standard deviation, by which pixels are divided then");
}

absl::Status ImageFlags::Apply(ModelConfig& model) const {
  PixelStatistics pixels;
  absl::StatusOr<Channels> parsed = ParseChannels(mean);
  if (!parsed.ok()) return Annotate(parsed.status(), "--image-mean");
  pixels.mean = *parsed;
  parsed = ParseChannels(deviation);
  if (!parsed.ok()) return Annotate(parsed.status(), "--image-std");
  pixels.deviation = *parsed;
  if (!model.is_image()) {
    const PixelStatistics usual;
    if (pixels.mean != usual.mean) return OfImages("--image-mean", model);
    if (pixels.deviation != usual.deviation) return OfImages("--image-std", model);
  }
  model.pixels = pixels;
  return absl::OkStatus();
}

}  // namespace penstock
