// Normalisation of pixels.
#ifndef PENSTOCK_TRAINER_MODEL_PIXEL_STATISTICS_H_
#define PENSTOCK_TRAINER_MODEL_PIXEL_STATISTICS_H_

#include <array>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/reference/images.h"

namespace penstock {

// A number for each of red, green and blue.
using Channels = std::array<double, reference::kImageChannels>;

// Parses "R,G,B". kInvalidArgument: not three finite numbers.
absl::StatusOr<Channels> ParseChannels(absl::string_view text);
// The inverse of ParseChannels(), exact to the last bit.
std::string ChannelsText(const Channels& channels);

// A byte b of a channel becomes (b / 255 - mean) / deviation, as in torchvision's Normalize.
struct PixelStatistics {
  // The defaults are ImageNet's.
  Channels mean = {0.485, 0.456, 0.406};
  Channels deviation = {0.229, 0.224, 0.225};

  reference::PixelScale scale() const;
  // kInvalidArgument: a mean outside [0, 1], or a deviation that is not in (0, 1].
  absl::Status Validate() const;

  friend bool operator==(const PixelStatistics&, const PixelStatistics&) = default;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_MODEL_PIXEL_STATISTICS_H_
