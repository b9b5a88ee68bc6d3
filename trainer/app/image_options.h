// The options of penstock-train about images.
#ifndef PENSTOCK_TRAINER_APP_IMAGE_OPTIONS_H_
#define PENSTOCK_TRAINER_APP_IMAGE_OPTIONS_H_

#include <string>

#include "absl/status/status.h"
#include "trainer/model/model_config.h"

namespace CLI {
class App;
}

namespace penstock {

// The value of --dtype, --classes, --image-mean and --image-std that lets the program choose.
inline constexpr char kAutoValue[] = "auto";

struct ImageFlags {
  std::string classes = kAutoValue;
  std::string mean = ChannelsText(PixelStatistics().mean);
  std::string deviation = ChannelsText(PixelStatistics().deviation);

  // Sets the given values in `model`; for "auto", `model` keeps its own. kInvalidArgument: a wrong
  // value, or an option given for a model of boards; the message names the option.
  absl::Status Apply(ModelConfig& model) const;
  bool auto_pixels() const { return mean == kAutoValue || deviation == kAutoValue; }
  // Sets the mean and the deviation of `model` if they are auto.
  void SetAutoPixels(const PixelStatistics& pixels, ModelConfig& model) const;
};

// `flags` must outlive `app`. Sets the group of the options that are added next.
void AddImageOptions(CLI::App& app, ImageFlags& flags);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_IMAGE_OPTIONS_H_
