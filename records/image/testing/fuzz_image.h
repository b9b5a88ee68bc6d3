// The checks that both image fuzzers run on any bytes.
#ifndef PENSTOCK_RECORDS_IMAGE_TESTING_FUZZ_IMAGE_H_
#define PENSTOCK_RECORDS_IMAGE_TESTING_FUZZ_IMAGE_H_

#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "records/image/image_transform.h"
#include "records/image/testing/region.h"

namespace penstock {

// Ends the program if decoding a region gives another status or other pixels than decoding the
// whole picture.
inline void FuzzRegion(std::span<const uint8_t> bytes, const ImageInfo& info,
                       const ImageDecodeOptions& options, uint8_t choice) {
  static ImageDecoder used;
  CounterRng rng(choice);
  const Size picture = ShrunkSize(PictureSize(info, options.orient), options.shrink);
  const CropRect region = RandomRegion(rng, picture);
  ImageDecoder fresh;
  const absl::StatusOr<DecodedImage> whole = fresh.Decode(bytes, info, options);
  const absl::StatusOr<DecodedImage> part = used.DecodeRegion(bytes, info, options, region);
  if (whole.status() != part.status()) std::abort();
  if (!whole.ok()) return;
  if (!Holds(*part, region) || !EqualIn(region, *whole, *part)) std::abort();
  if (whole->notes.truncated != part->notes.truncated) std::abort();
}

// Decodes and transforms `bytes`, with options that `choice` selects. Ends the program if the
// status is one that no bytes may cause, or if the result depends on the previous image or on the
// region.
inline void FuzzImage(std::span<const uint8_t> bytes, uint8_t choice) {
  static ImageTransform used;
  ImageOps ops;
  ops.limits = {.max_pixels = 1 << 16, .max_side = 1 << 12, .max_scans = 8, .max_chunk = 1 << 20};
  ops.channels = choice & 1 ? 1 : 3;
  ops.orient = (choice & 2) != 0;
  ops.fill_truncated = (choice & 4) != 0;
  if (choice & 8) ops.interpolation = Interpolation::kNearest;
  ops.scaled_decoding = (choice & (8 | 32)) == 32;
  ops.crop = choice & 16 ? decltype(ops.crop)(ResizeShorterOp{40, {30, 20}})
                         : decltype(ops.crop)(RandomResizedCropOp{{30, 20}, {}});
  const Uniforms uniforms(uint64_t{choice});
  std::vector<uint8_t> out(ops.output_bytes()), again(ops.output_bytes());
  const absl::Status status = used.Apply(bytes, ops, uniforms, out).status();
  if (status != ImageTransform().Apply(bytes, ops, uniforms, again).status()) std::abort();
  if (status.ok() && out != again) std::abort();
  if (!status.ok() && status.code() != absl::StatusCode::kDataLoss &&
      status.code() != absl::StatusCode::kInvalidArgument) {
    std::abort();
  }
  const absl::StatusOr<ImageInfo> info = ProbeImage(bytes);
  if (!info.ok() || !CheckImageLimits(*info, ops.limits).ok()) return;
  ImageDecodeOptions options = ops.decode_options();
  if (info->format == ImageFormat::kJpeg) options.shrink = uint32_t{1} << (choice >> 5) % 3;
  FuzzRegion(bytes, *info, options, choice);
}

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_TESTING_FUZZ_IMAGE_H_
