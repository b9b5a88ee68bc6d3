// Decodes encoded images to pixels.
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

// A decoded image. With ImageDecodeOptions::orient the picture is turned, and with `shrink` it is
// smaller, so its sides may differ from those of `info`.
struct DecodedImage {
  ImageInfo info;
  PixelView pixels;
  // Coordinates of the first pixel in the picture. Both are 0 if the whole picture was decoded.
  uint32_t left = 0;
  uint32_t top = 0;
  ImageNotes notes;
};

// Returns the size of the picture, after turning if `orient`.
Size PictureSize(const ImageInfo& info, bool orient);

// Decodes JPEG (8-bit, Huffman-coded, baseline, extended or progressive) and PNG. The pixels depend
// only on the bytes and options. They equal those of Pillow's Image.convert("RGB") and
// convert("L"): alpha is dropped, CMYK is taken as Adobe's programs store it, and 16-bit grey is
// clipped at 255.
//
//   ImageDecoder decoder;
//   PENSTOCK_ASSIGN_OR_RETURN(DecodedImage image, decoder.Decode(bytes, {.channels = 3}));
//
// Not thread-safe; keep one for each thread.
class ImageDecoder {
 public:
  // Decodes the whole picture. The pixels are valid until the next call.
  // kInvalidArgument: no image, an unsupported one, or one that exceeds options.limits.
  // kDataLoss: the image is damaged, or it is truncated and options.fill_truncated is false.
  // kResourceExhausted: out of memory. Does not occur if DecodeMemory() bytes were free.
  // The first two are facts about the bytes, the same on every machine; kResourceExhausted is not.
  // Data after the end marker is ignored.
  absl::StatusOr<DecodedImage> Decode(std::span<const uint8_t> bytes,
                                      const ImageDecodeOptions& options);
  // Like the function above, but you have already read the header. REQUIRES: `info` is
  // ProbeImage(bytes), and is within options.limits.
  absl::StatusOr<DecodedImage> Decode(std::span<const uint8_t> bytes, const ImageInfo& info,
                                      const ImageDecodeOptions& options);

  // Decodes at least `region`, and no more than the format requires. The region is in coordinates
  // of the picture after turning, if options.orient, and after shrinking. Pixels outside the region
  // are unspecified.
  // The status, notes.truncated and the pixels of the region are those of Decode(), so the region
  // does not affect whether an image can be decoded. notes.warnings may be lower, because rows
  // below the region need not be read.
  // REQUIRES: as Decode(); the region is not empty and lies in the picture.
  absl::StatusOr<DecodedImage> DecodeRegion(std::span<const uint8_t> bytes, const ImageInfo& info,
                                            const ImageDecodeOptions& options,
                                            const CropRect& region);

  // Frees the memory that images needed beyond about `kept` bytes. Their pixels become invalid. If
  // you do not call it, the next Decode() frees what very large images needed.
  void Trim(size_t kept = kNumScratch * ScratchMemory::kKeptBytes);

  // Bytes that are kept for the next image.
  size_t kept_bytes() const;

 private:
  // The memories that may be as large as a picture.
  static constexpr size_t kNumScratch = 3;

  // Decodes the part as it is stored, without turning it.
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
