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
  // The same, and adds the images to sums() if all of them decode.
  absl::Status Measure(std::span<const uint8_t> payload);

  // One for each feature.
  const std::vector<PixelSums>& sums() const { return sums_; }
  void set_sums(std::vector<PixelSums> sums) { sums_ = std::move(sums); }

 private:
  ImageCheck(std::vector<ImageFeature> features, FeatureFinder finder);
  // Calls decoded(i, pixels) for each image, where i is the number of its feature.
  absl::Status DecodeAll(std::span<const uint8_t> payload,
                         absl::FunctionRef<void(size_t, const PixelView&)> decoded);

  std::vector<ImageFeature> features_;
  FeatureFinder finder_;
  FoundFeatures found_;
  std::unique_ptr<ImageDecoder> decoder_;
  std::vector<PixelSums> sums_;
  std::vector<PixelSums> of_record_;  // The sums of the record that is being measured.
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_IMAGE_CHECK_H_
