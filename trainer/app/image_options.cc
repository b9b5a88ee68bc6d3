#include "trainer/app/image_options.h"

#include "CLI/CLI.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace penstock {
namespace {

absl::Status NeedsImages(absl::string_view option, const ModelConfig& model) {
  return absl::InvalidArgumentError(
      absl::StrCat(option, " is for image models, and --model ", model.name,
                   " reads boards; leave it out, or give --model vit, vit-small or vit-tiny"));
}

absl::Status ApplyClasses(const std::string& classes, ModelConfig& model) {
  if (classes == kAutoValue) return absl::OkStatus();
  uint64_t number = 0;
  if (!absl::SimpleAtoi(classes, &number) || number == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--classes \"", classes, "\" is neither auto nor a positive number"));
  }
  if (!model.is_image()) return NeedsImages("--classes", model);
  model.classes = number;
  return absl::OkStatus();
}

// Sets `channels` of the model to the value of `option`.
absl::Status ApplyChannels(absl::string_view option, const std::string& text,
                           const ModelConfig& model, Channels& channels) {
  if (text == kAutoValue) return model.is_image() ? absl::OkStatus() : NeedsImages(option, model);
  const absl::StatusOr<Channels> parsed = ParseChannels(text);
  if (!parsed.ok()) return Annotate(parsed.status(), option);
  if (!model.is_image() && *parsed != channels) return NeedsImages(option, model);
  channels = *parsed;
  return absl::OkStatus();
}

}  // namespace

void AddImageOptions(CLI::App& app, ImageFlags& flags) {
  app.option_defaults()->group("Images");
  app.add_option("--classes", flags.classes,
                 "Number of classes; auto: the resumed checkpoint's, else the manifest's")
      ->type_name("N");
  app.add_option(
         "--image-mean", flags.mean,
         "Mean to subtract from pixels, from 0 to 1; auto: as for --classes (from penstock index "
         "--statistics)")
      ->type_name("R,G,B");
  app.add_option("--image-std", flags.deviation,
                 "Standard deviation by which to divide pixels; auto: as for --image-mean")
      ->type_name("R,G,B");
}

void ImageFlags::SetAutoPixels(const PixelStatistics& pixels, ModelConfig& model) const {
  if (mean == kAutoValue) model.pixels.mean = pixels.mean;
  if (deviation == kAutoValue) model.pixels.deviation = pixels.deviation;
}

absl::Status ImageFlags::Apply(ModelConfig& model) const {
  PENSTOCK_RETURN_IF_ERROR(ApplyClasses(classes, model));
  PENSTOCK_RETURN_IF_ERROR(ApplyChannels("--image-mean", mean, model, model.pixels.mean));
  return ApplyChannels("--image-std", deviation, model, model.pixels.deviation);
}

}  // namespace penstock
