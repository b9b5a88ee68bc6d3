#include "records/image/image_decoder.h"

#include "base/status.h"
#include "records/image/orientation.h"

namespace penstock {
Size PictureSize(const ImageInfo& info, bool orient) {
  const bool exchanged = orient && ExchangesSides(info.orientation);
  return exchanged ? Size{info.height, info.width} : Size{info.width, info.height};
}

absl::StatusOr<PicturePart> ImageDecoder::DecodePart(std::span<const uint8_t> bytes,
                                                     const ImageInfo& info,
                                                     const ImageDecodeOptions& options,
                                                     const CropRect& region, ImageNotes& notes) {
  if (info.format == ImageFormat::kJpeg) {
    return jpeg_.Decode(bytes, info, options, region, pixels_, notes);
  }
  PixelView pixels{nullptr, info.width, info.height, options.channels};
  uint8_t* memory = pixels_.Reserve(pixels.bytes());
  PENSTOCK_RETURN_IF_ERROR(png_.Decode(bytes, info, options, {memory, pixels.bytes()}, notes));
  pixels.data = memory;
  return PicturePart{.pixels = pixels};
}

PicturePart ImageDecoder::Turn(const PicturePart& part, const Size& stored, int orientation) {
  const PixelView& pixels = part.pixels;
  const CropRect upright =
      UprightRect({part.left, part.top, pixels.width, pixels.height}, stored, orientation);
  uint8_t* turned = turned_.Reserve(pixels.bytes());
  return {.pixels = ApplyOrientation(pixels, orientation, turned),
          .left = static_cast<uint32_t>(upright.left),
          .top = static_cast<uint32_t>(upright.top)};
}

void ImageDecoder::Trim(size_t kept) {
  pixels_.Trim(kept / kNumScratch);
  turned_.Trim(kept / kNumScratch);
  png_.Trim(kept / kNumScratch);
}

size_t ImageDecoder::kept_bytes() const {
  return pixels_.capacity() + turned_.capacity() + png_.kept_bytes();
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
  const Size picture = ShrunkSize(PictureSize(info, options.orient), options.shrink);
  return DecodeRegion(bytes, info, options, {0, 0, picture.width, picture.height});
}

absl::StatusOr<DecodedImage> ImageDecoder::DecodeRegion(std::span<const uint8_t> bytes,
                                                        const ImageInfo& info,
                                                        const ImageDecodeOptions& options,
                                                        const CropRect& region) {
  Trim();
  const int orientation = options.orient ? info.orientation : 1;
  const Size stored = ShrunkSize({info.width, info.height}, options.shrink);
  ImageNotes notes;
  PENSTOCK_ASSIGN_OR_RETURN(
      PicturePart part,
      DecodePart(bytes, info, options, StoredRect(region, stored, orientation), notes));
  if (orientation != 1) part = Turn(part, stored, orientation);
  return DecodedImage{
      .info = info, .pixels = part.pixels, .left = part.left, .top = part.top, .notes = notes};
}

}  // namespace penstock
