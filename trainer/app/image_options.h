// The options of penstock-train about images.
#ifndef PENSTOCK_TRAINER_APP_IMAGE_OPTIONS_H_
#define PENSTOCK_TRAINER_APP_IMAGE_OPTIONS_H_

#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "trainer/model/model_config.h"

namespace penstock {

// "auto" or a number, of --classes.
inline constexpr char kAutoClasses[] = "auto";

struct ImageFlags {
  std::string classes = kAutoClasses;
  std::string mean = ChannelsText(PixelStatistics().mean);
  std::string deviation = ChannelsText(PixelStatistics().deviation);

  // Sets what they say in `model`; with automatic classes it keeps its own. kInvalidArgument names
  // the option; also where one is given for a model of boards.
  absl::Status Apply(ModelConfig& model) const;
};

// `flags` must outlive `app`.
void AddImageOptions(CLI::App& app, ImageFlags& flags);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_IMAGE_OPTIONS_H_
