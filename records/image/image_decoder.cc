#include "records/image/image_decoder.h"

#include "base/status.h"
#include "records/image/orientation.h"

namespace penstock {

absl::Status ImageDecoder::DecodePixels(std::span<const uint8_t> bytes,
                                        const ImageDecodeOptions& options, std::span<uint8_t> out,
                                        DecodedImage& image) {
  return image.info.format == ImageFormat::kJpeg
             ? jpeg_.Decode(bytes, image.info, options, out, image.notes)
             : png_.Decode(bytes, image.info, options, out, image.notes);
}

void ImageDecoder::Trim() {
  pixels_.Trim();
  turned_.Trim();
}

absl::StatusOr<DecodedImage> ImageDecoder::Decode(std::span<const uint8_t> bytes,
                                                  const ImageDecodeOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(const ImageInfo info, ProbeImage(bytes));
  PENSTOCK_RETURN_IF_ERROR(CheckImageLimits(info, options.limits));
  return Decode(bytes, info, options);
}

absl::StatusOr<DecodedImage> ImageDecoder::Decode(std::span<const uint8_t> bytes,
                                                  const ImageInfo& info,
                                                  const ImageDecodeOptions& options) {
  Trim();
  DecodedImage image;
  image.info = info;
  image.pixels = {nullptr, image.info.width, image.info.height, options.channels};
  uint8_t* memory = pixels_.Reserve(image.pixels.bytes());
  image.pixels.data = memory;
  PENSTOCK_RETURN_IF_ERROR(DecodePixels(bytes, options, {memory, image.pixels.bytes()}, image));
  if (options.orient && image.info.orientation != 1) {
    uint8_t* turned = turned_.Reserve(image.pixels.bytes());
    image.pixels = ApplyOrientation(image.pixels, image.info.orientation, turned);
  }
  return image;
}

}  // namespace penstock
