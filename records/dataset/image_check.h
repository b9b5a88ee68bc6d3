// Checks that the encoded images in records can be decoded, and sums up their pixels.
#ifndef PENSTOCK_RECORDS_DATASET_IMAGE_CHECK_H_
#define PENSTOCK_RECORDS_DATASET_IMAGE_CHECK_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "records/dataset/feature_info.h"
#include "records/format/feature_finder.h"
#include "records/image/image_decode_options.h"
#include "records/image/image_note.h"
#include "records/image/pixel_sums.h"

namespace penstock {

class ImageDecoder;

// A bytes feature whose values are encoded images, and how to decode them.
struct ImageFeature {
  std::string name;
  ImageDecodeOptions decode = {};
};

// Returns every feature with HoldsImages(). These are decoded if no spec says which.
std::vector<ImageFeature> DefaultImageFeatures(const FeatureSummary& features);

// Results for the images of all records in which no fault was found.
struct CheckedImages {
  std::vector<PixelSums> sums;  // One for each feature, over the images that were measured.
  ImageCounts counts;
};

// Decodes the images of records. Not thread-safe.
class ImageCheck {
 public:
  // kInvalidArgument: a feature is named twice.
  static absl::StatusOr<ImageCheck> Create(std::vector<ImageFeature> features);
  ImageCheck(ImageCheck&&) noexcept;
  ImageCheck& operator=(ImageCheck&&) noexcept;
  ~ImageCheck();

  // Decodes each image of the record completely. If a record lacks a feature, or has it with
  // another type, it has no image there.
  // kInvalidArgument, kDataLoss: facts about the record, as in ImageDecoder::Decode(). The message
  // names the feature.
  // kResourceExhausted: out of memory, which says nothing about the record.
  absl::Status Check(std::span<const uint8_t> payload);
  // Like Check(), but also adds the pixels to checked().sums if all images can be decoded.
  absl::Status Measure(std::span<const uint8_t> payload);

  const CheckedImages& checked() const { return checked_; }
  void set_checked(CheckedImages checked) { checked_ = std::move(checked); }

 private:
  ImageCheck(std::vector<ImageFeature> features, FeatureFinder finder);
  // Calls decoded(i, pixels) for each image, where i is the index of its feature.
  absl::Status DecodeAll(std::span<const uint8_t> payload,
                         absl::FunctionRef<void(size_t, const PixelView&)> decoded);

  std::vector<ImageFeature> features_;
  FeatureFinder finder_;
  FoundFeatures found_;
  std::unique_ptr<ImageDecoder> decoder_;
  CheckedImages checked_;
  CheckedImages of_record_;  // Results for the current record.
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_IMAGE_CHECK_H_
