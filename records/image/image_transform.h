// Transforms an encoded image to the pixels that a trainer sees.
#ifndef PENSTOCK_RECORDS_IMAGE_IMAGE_TRANSFORM_H_
#define PENSTOCK_RECORDS_IMAGE_IMAGE_TRANSFORM_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "records/image/image_decoder.h"
#include "records/image/image_memory.h"
#include "records/image/image_ops.h"
#include "records/image/rendering.h"
#include "records/image/uniforms.h"

namespace penstock {

// Decodes, turns, crops, resizes and mirrors, in this order. The output depends only on the bytes,
// the operations and the uniform numbers. If the format allows it, decodes only the part of the
// picture that the crop needs. This affects neither the pixels nor whether an image can be decoded.
//
//   ImageTransform transform;
//   const Uniforms uniforms(ImageKey(augmentation_key, ordinal, /*view=*/0));
//   PENSTOCK_ASSIGN_OR_RETURN(ImageNotes notes, transform.Apply(bytes, ops, uniforms, out));
//
// Not thread-safe; keep one for each thread.
class ImageTransform {
 public:
  // Fills `out`, which has shape [height][width][channels] and ops.output_bytes() bytes. After an
  // error, `out` is unspecified. `memory` grants the memory for a large image; null grants
  // everything.
  // kInvalidArgument, kDataLoss, kResourceExhausted: as for ImageDecoder::Decode(), and errors of
  // `memory`.
  // kInvalidArgument, before anything is decoded: the picture is smaller than a random crop, or too
  // long to be resized.
  // REQUIRES: ops.Validate() is OK.
  absl::StatusOr<ImageNotes> Apply(std::span<const uint8_t> bytes, const ImageOps& ops,
                                   const Uniforms& uniforms, std::span<uint8_t> out,
                                   ImageMemory* memory = nullptr);

 private:
  absl::StatusOr<ImageNotes> DecodeAndRender(std::span<const uint8_t> bytes, const ImageInfo& info,
                                             const ImageOps& ops, const Rendering& rendering,
                                             std::span<uint8_t> out);
  void Render(const ResizeRequest& request, const PicturePart& source, uint8_t* out) {
    resampler_.Resize(source, request, out);
  }
  void Render(const PaddedCrop& crop, const PicturePart& source, uint8_t* out) {
    CopyPadded(source, crop, out);
  }

  ImageDecoder decoder_;
  Resampler resampler_;
};

// Returns the largest memory, in bytes, that Apply() takes for such an image, without its input and
// output. Up to 64 MiB of it may be kept for the next image.
uint64_t TransformMemory(const ImageInfo& info, const ImageOps& ops);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_IMAGE_TRANSFORM_H_
