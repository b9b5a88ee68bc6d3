#include "trainer/app/image_options.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace penstock {
namespace {

absl::Status OfImages(absl::string_view option, const ModelConfig& model) {
  return absl::InvalidArgumentError(
      absl::StrCat(option, " is of images, and --model ", model.name, " is of boards"));
}

absl::Status ApplyClasses(const std::string& classes, ModelConfig& model) {
  if (classes == kAutoClasses) return absl::OkStatus();
  uint64_t number = 0;
  if (!absl::SimpleAtoi(classes, &number) || number == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--classes: \"", classes, "\" is neither auto nor a number of classes"));
  }
  if (!model.is_image()) return OfImages("--classes", model);
  model.classes = number;
  return absl::OkStatus();
}

absl::Status ApplyPixels(const ImageFlags& flags, ModelConfig& model) {
  PixelStatistics pixels;
  absl::StatusOr<Channels> parsed = ParseChannels(flags.mean);
  if (!parsed.ok()) return Annotate(parsed.status(), "--image-mean");
  pixels.mean = *parsed;
  parsed = ParseChannels(flags.deviation);
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

}  // namespace

void AddImageOptions(CLI::App& app, ImageFlags& flags) {
  app.add_option(
      "--classes", flags.classes,
      "Number of classes of images; auto: as the checkpoint that is resumed has, else as "
      "many as the manifest names");
  app.add_option("--image-mean", flags.mean,
                 "Mean of the pixels' red, green and blue, from 0 to 1, which is subtracted");
  app.add_option("--image-std", flags.deviation,
                 "Their standard deviation, by which pixels are divided then");
}

absl::Status ImageFlags::Apply(ModelConfig& model) const {
  PENSTOCK_RETURN_IF_ERROR(ApplyClasses(classes, model));
  return ApplyPixels(*this, model);
}

}  // namespace penstock
