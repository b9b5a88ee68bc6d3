#include "cli/data/image_survey.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "cli/data/feature_values.h"
#include "records/image/headers.h"

namespace penstock {
namespace {

void Take(uint32_t size, bool first, ValueRange& range) {
  range = first ? ValueRange{size, size}
                : ValueRange{std::min(range.min, size), std::max(range.max, size)};
}

void AddImage(const ImageInfo& info, ImageFacts& facts) {
  const bool first = facts.images() == 0;
  Take(info.width, first, facts.width);
  Take(info.height, first, facts.height);
  if (info.orientation != 1) ++facts.turned;
  ++(info.format == ImageFormat::kJpeg ? facts.jpegs : facts.pngs);
}

void AddValue(std::span<const uint8_t> value, ImageFacts& facts) {
  ++facts.values;
  // Most features hold no images, and an error message for each value would take time.
  if (!LooksLikeImage(value) && (facts.images() == 0 || !facts.problem.empty())) return;
  const absl::StatusOr<ImageInfo> info = ProbeImage(value);
  if (info.ok()) {
    AddImage(*info, facts);
  } else if (facts.problem.empty()) {
    facts.problem = std::string(info.status().message());
  }
}

std::string FormatsOf(const ImageFacts& facts) {
  const std::string jpegs = facts.jpegs > 0 ? absl::StrCat(facts.jpegs, " JPEG") : "";
  const std::string pngs = facts.pngs > 0 ? absl::StrCat(facts.pngs, " PNG") : "";
  return absl::StrCat(jpegs, jpegs.empty() || pngs.empty() ? "" : " and ", pngs);
}

}  // namespace

void ImageSurvey::Add(RecordFormat format, std::span<const uint8_t> payload) {
  ForEachBytesValue(format, payload,
                    [this](absl::string_view feature, std::span<const uint8_t> value) {
                      AddValue(value, FactsOf(feature));
                    });
}

ImageFacts& ImageSurvey::FactsOf(absl::string_view feature) {
  const auto known = features_.find(feature);
  if (known != features_.end()) return known->second;
  ImageFacts facts{.feature = std::string(feature)};
  return features_.emplace(facts.feature, std::move(facts)).first->second;
}

std::vector<ImageFacts> ImageSurvey::Facts() const {
  std::vector<ImageFacts> images;
  for (const auto& [name, facts] : features_) {
    if (facts.images() > 0 && 2 * facts.images() >= facts.values) images.push_back(facts);
  }
  return images;
}

std::string Describe(const ImageFacts& facts) {
  std::string text = absl::StrCat(facts.feature, ": ", FormatsOf(facts), ", ", facts.width.ToText(),
                                  " x ", facts.height.ToText(), " pixels; ",
                                  facts.turned == 0 ? "none" : absl::StrCat(facts.turned),
                                  " with an EXIF orientation other than 1");
  if (const uint64_t others = facts.values - facts.images(); others > 0) {
    absl::StrAppend(&text, "; ", Counted(others, "value is not an image", "values are not images"));
    if (!facts.problem.empty()) absl::StrAppend(&text, ": ", facts.problem);
  }
  return text;
}

nlohmann::json ToJson(const ImageFacts& facts) {
  return {{"feature", facts.feature},
          {"values", facts.values},
          {"jpeg", facts.jpegs},
          {"png", facts.pngs},
          {"exif_oriented", facts.turned},
          {"min_width", facts.width.min},
          {"max_width", facts.width.max},
          {"min_height", facts.height.min},
          {"max_height", facts.height.max},
          {"problem", facts.problem}};
}

}  // namespace penstock
