// Whether the encoded images in records can be decoded, and what their pixels sum up to.
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

// A bytes feature whose values are encoded images, and how they are to be decoded.
struct ImageFeature {
  std::string name;
  ImageDecodeOptions decode = {};
};

// Every feature that HoldsImages(): what is decoded where no spec says how.
std::vector<ImageFeature> DefaultImageFeatures(const FeatureSummary& features);

// The images of all records without a fault.
struct CheckedImages {
  std::vector<PixelSums> sums;  // One for each feature; of the images that were measured.
  ImageCounts counts;
};

// Not thread-safe.
class ImageCheck {
 public:
  // kInvalidArgument: a feature is named twice.
  static absl::StatusOr<ImageCheck> Create(std::vector<ImageFeature> features);
  ImageCheck(ImageCheck&&) noexcept;
  ImageCheck& operator=(ImageCheck&&) noexcept;
  ~ImageCheck();

  // Decodes each image of the record whole. A record may lack a feature, or have it of another
  // type: then it has no image there.
  // kInvalidArgument and kDataLoss: facts about the record, naming the feature, as
  // ImageDecoder::Decode(). kResourceExhausted: no memory, which says nothing about it.
  absl::Status Check(std::span<const uint8_t> payload);
  // The same, and adds the pixels to checked().sums if all images decode.
  absl::Status Measure(std::span<const uint8_t> payload);

  const CheckedImages& checked() const { return checked_; }
  void set_checked(CheckedImages checked) { checked_ = std::move(checked); }

 private:
  ImageCheck(std::vector<ImageFeature> features, FeatureFinder finder);
  // Calls decoded(i, pixels) for each image, where i is the number of its feature.
  absl::Status DecodeAll(std::span<const uint8_t> payload,
                         absl::FunctionRef<void(size_t, const PixelView&)> decoded);

  std::vector<ImageFeature> features_;
  FeatureFinder finder_;
  FoundFeatures found_;
  std::unique_ptr<ImageDecoder> decoder_;
  CheckedImages checked_;
  CheckedImages of_record_;  // The record that is being checked.
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_IMAGE_CHECK_H_
