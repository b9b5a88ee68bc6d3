// Finds the features that hold encoded images, and their formats.
#ifndef PENSTOCK_CLI_DATA_IMAGE_SURVEY_H_
#define PENSTOCK_CLI_DATA_IMAGE_SURVEY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"
#include "records/dataset/feature_info.h"
#include "records/image/image_info.h"

namespace penstock {

// Facts about a bytes feature, from the headers of its images.
struct ImageFacts {
  std::string feature;
  uint64_t values = 0;  // Number of values, images or not.
  uint64_t jpegs = 0;
  uint64_t pngs = 0;
  uint64_t turned = 0;    // Number of images with an EXIF orientation other than 1.
  ValueRange width = {};  // The range of stored widths.
  ValueRange height = {};
  std::string problem = {};  // The reason why the first value that is no image was refused.

  uint64_t images() const { return jpegs + pngs; }
};

// Reads only headers. Not thread-safe.
class ImageSurvey {
 public:
  void Add(RecordFormat format, std::span<const uint8_t> payload);

  // Returns the features with images in at least half of their values, sorted by name.
  std::vector<ImageFacts> Facts() const;

 private:
  ImageFacts& FactsOf(absl::string_view feature);

  std::map<std::string, ImageFacts, std::less<>> features_;
};

// Returns "image/encoded: 12 JPEG and 3 PNG, 64-500 x 72-375 pixels; 2 with an EXIF orientation
// other than 1".
std::string Describe(const ImageFacts& facts);
nlohmann::json ToJson(const ImageFacts& facts);

}  // namespace penstock

#endif  // PENSTOCK_CLI_DATA_IMAGE_SURVEY_H_
