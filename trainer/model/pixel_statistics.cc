#include "trainer/model/pixel_statistics.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace penstock {
namespace {

// Returns the shortest text that parses to the same number.
std::string NumberText(double number) {
  std::string text;
  for (int digits = 6; digits <= 17; ++digits) {
    char buffer[32];
    std::snprintf(buffer, sizeof(buffer), "%.*g", digits, number);
    text = buffer;
    double again = 0;
    if (absl::SimpleAtod(text, &again) && again == number) break;
  }
  return text;
}

absl::Status Unlike(absl::string_view what, const Channels& channels, absl::string_view range) {
  return absl::InvalidArgumentError(absl::StrCat("the pixel ", what, " ", ChannelsText(channels),
                                                 " is out of range: give numbers ", range,
                                                 ", where 1 stands for a byte of 255"));
}

}  // namespace

absl::StatusOr<Channels> ParseChannels(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ',');
  Channels channels;
  bool fits = parts.size() == channels.size();
  for (size_t c = 0; fits && c < channels.size(); ++c) {
    fits = absl::SimpleAtod(parts[c], &channels[c]) && std::isfinite(channels[c]);
  }
  if (fits) return channels;
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is not three numbers, for red, green and blue: 0.5,0.5,0.5"));
}

std::string ChannelsText(const Channels& channels) {
  return absl::StrJoin(channels, ",", [](std::string* out, double channel) {
    absl::StrAppend(out, NumberText(channel));
  });
}

reference::PixelScale PixelStatistics::scale() const {
  float means[reference::kImageChannels], deviations[reference::kImageChannels];
  for (size_t c = 0; c < mean.size(); ++c) {
    means[c] = static_cast<float>(mean[c]);
    deviations[c] = static_cast<float>(deviation[c]);
  }
  return reference::PixelScale::Of(means, deviations);
}

absl::Status PixelStatistics::Validate() const {
  const bool means =
      std::all_of(mean.begin(), mean.end(), [](double m) { return m >= 0 && m <= 1; });
  if (!means) return Unlike("mean", mean, "from 0 to 1");
  // As float, smaller deviations would be zero or have an infinite inverse.
  const bool deviations =
      std::all_of(deviation.begin(), deviation.end(), [](double d) { return d >= 1e-6 && d <= 1; });
  return deviations ? absl::OkStatus()
                    : Unlike("standard deviation", deviation, "above 0 and at most 1");
}

}  // namespace penstock
