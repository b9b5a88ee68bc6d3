// Makes cells of a sheet from encoded images as they are stored.
#ifndef PENSTOCK_CLI_SHEET_ORIGINAL_CELLS_H_
#define PENSTOCK_CLI_SHEET_ORIGINAL_CELLS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/data/image_survey.h"
#include "cli/sheet/contact_sheet.h"
#include "records/dataset/feature_info.h"
#include "records/image/image_decoder.h"

namespace penstock {

// The features that a sheet of originals shows.
struct OriginalFeatures {
  RecordFormat format = RecordFormat::kExample;
  std::string image;
  std::string label = {};  // A feature with one int64; empty if there is none.

  // Chooses `image/encoded`, or else the first feature of images, and `image/class/label`, or else
  // `label`. kInvalidArgument: no feature holds encoded images; the message lists the features.
  static absl::StatusOr<OriginalFeatures> Choose(RecordFormat format,
                                                 const FeatureSummary& features,
                                                 std::span<const ImageFacts> images);
};

// Shows whole images, not turned by EXIF, shrunk to at most `side`. Not thread-safe.
class OriginalCells {
 public:
  OriginalCells(OriginalFeatures features, std::vector<std::string> class_names, uint32_t side)
      : features_(std::move(features)), class_names_(std::move(class_names)), side_(side) {}

  // If an image cannot be decoded, its cell has a problem.
  SheetCell Make(uint64_t record, std::span<const uint8_t> payload);

 private:
  absl::Status AddPicture(std::span<const uint8_t> payload, SheetCell& cell);

  OriginalFeatures features_;
  std::vector<std::string> class_names_;
  uint32_t side_;
  ImageDecoder decoder_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_SHEET_ORIGINAL_CELLS_H_
