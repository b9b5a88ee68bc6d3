#include "cli/data/statistics_text.h"

#include <array>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/print_escaped.h"
#include "base/text.h"

namespace penstock {
namespace {

std::string ChannelText(const std::array<double, kPixelChannels>& channels) {
  return absl::StrJoin(channels, ",", [](std::string* out, double channel) {
    absl::StrAppendFormat(out, "%.4g", channel);
  });
}

std::string Describe(const ImageStatistics& statistics) {
  if (statistics.images == 0) return absl::StrCat(statistics.feature, ": no training images");
  return absl::StrCat(statistics.feature, ": mean ", ChannelText(statistics.mean), ", deviation ",
                      ChannelText(statistics.deviation), " over ",
                      Counted(statistics.images, "training image", "training images"));
}

}  // namespace

void PrintStatistics(const Manifest& manifest) {
  for (const ImageStatistics& statistics : StatisticsOf(manifest)) {
    PrintEscaped(stdout, "pixels    %s\n", Describe(statistics));
  }
}

nlohmann::json StatisticsToJson(const Manifest& manifest) {
  nlohmann::json all = nlohmann::json::array();
  for (const ImageStatistics& statistics : StatisticsOf(manifest)) {
    all.push_back({{"feature", statistics.feature},
                   {"images", statistics.images},
                   {"mean", statistics.mean},
                   {"std", statistics.deviation}});
  }
  return all;
}

}  // namespace penstock
