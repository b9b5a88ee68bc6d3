// Encoded images to pixels.
#ifndef PENSTOCK_RECORDS_IMAGE_IMAGE_DECODER_H_
#define PENSTOCK_RECORDS_IMAGE_IMAGE_DECODER_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "records/image/image_decode_options.h"
#include "records/image/image_info.h"
#include "records/image/jpeg_pixels.h"
#include "records/image/pixels.h"
#include "records/image/png_pixels.h"

namespace penstock {

struct DecodedImage {
  ImageInfo info;
  PixelView pixels;  // Turned, if ImageDecodeOptions::orient says so: then its sides may differ
                     // from info's.
  ImageNotes notes;
};

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

  // Gives back what large images took; their pixels are then gone. Without this call, the next
  // Decode() does it.
  void Trim();

 private:
  absl::Status DecodePixels(std::span<const uint8_t> bytes, const ImageDecodeOptions& options,
                            std::span<uint8_t> out, DecodedImage& image);

  JpegPixels jpeg_;
  PngPixels png_;
  ScratchMemory pixels_;
  ScratchMemory turned_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_IMAGE_DECODER_H_
