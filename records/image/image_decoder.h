// Encoded images to pixels.
#ifndef PENSTOCK_RECORDS_IMAGE_IMAGE_DECODER_H_
#define PENSTOCK_RECORDS_IMAGE_IMAGE_DECODER_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "records/image/geometry.h"
#include "records/image/image_decode_options.h"
#include "records/image/image_info.h"
#include "records/image/jpeg_pixels.h"
#include "records/image/pixels.h"
#include "records/image/png_pixels.h"

namespace penstock {

// With ImageDecodeOptions::orient the picture is turned, with `shrink` it is smaller: its sides may
// differ from info's.
struct DecodedImage {
  ImageInfo info;
  PixelView pixels;
  // Coordinates in the picture of the first pixel; 0 if all of it was decoded.
  uint32_t left = 0;
  uint32_t top = 0;
  ImageNotes notes;
};

// The size of the picture: turned, if `orient`.
Size PictureSize(const ImageInfo& info, bool orient);

// Decodes JPEG (8-bit, Huffman-coded, baseline, extended or progressive) and PNG. The pixels are a
// function of bytes and options alone, and equal those of Pillow's Image.convert("RGB") and
// convert("L"): alpha is dropped, CMYK is taken as Adobe's programs store it, 16-bit grey is
// clipped at 255.
//
//   ImageDecoder decoder;
//   PENSTOCK_ASSIGN_OR_RETURN(DecodedImage image, decoder.Decode(bytes, {.channels = 3}));
//
// Not thread-safe; keep one for each thread.
class ImageDecoder {
 public:
  // The pixels are valid until the next call.
  // kInvalidArgument: no image, an unsupported one, or one beyond options.limits. kDataLoss:
  // damaged; or cut, unless options.fill_truncated. Both are facts about the bytes, alike on every
  // machine. kResourceExhausted: no memory, which says nothing about the bytes; does not occur
  // where DecodeMemory() was free.
  // Data after the end marker is ignored.
  absl::StatusOr<DecodedImage> Decode(std::span<const uint8_t> bytes,
                                      const ImageDecodeOptions& options);
  // The same where the header was read. REQUIRES: `info` is ProbeImage(bytes), within
  // options.limits.
  absl::StatusOr<DecodedImage> Decode(std::span<const uint8_t> bytes, const ImageInfo& info,
                                      const ImageDecodeOptions& options);

  // Decodes at least `region` of the picture (turned, if options.orient; after it was shrunk), and
  // no more than the format requires. Pixels outside the region are unspecified. Whether an image
  // can be decoded does not depend on the region: the status, notes.truncated and the pixels of the
  // region are those of Decode(). notes.warnings may be fewer, since rows below the region need not
  // be read. REQUIRES: as Decode(); the region is not empty and lies in the picture.
  absl::StatusOr<DecodedImage> DecodeRegion(std::span<const uint8_t> bytes, const ImageInfo& info,
                                            const ImageDecodeOptions& options,
                                            const CropRect& region);

  // Gives back what large images took; their pixels are then gone. Without this call, the next
  // Decode() does it.
  void Trim();

 private:
  // Decodes the part as it is stored, not turned.
  absl::StatusOr<PicturePart> DecodePart(std::span<const uint8_t> bytes, const ImageInfo& info,
                                         const ImageDecodeOptions& options, const CropRect& region,
                                         ImageNotes& notes);
  PicturePart Turn(const PicturePart& part, const Size& stored, int orientation);

  JpegPixels jpeg_;
  PngPixels png_;
  ScratchMemory pixels_;
  ScratchMemory turned_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_IMAGE_DECODER_H_
