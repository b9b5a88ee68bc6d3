#include "cli/pack/image_shrinker.h"

#include "base/status.h"

namespace penstock {
namespace {

bool IsGrey(const ImageInfo& info) { return info.components <= 2 && !info.palette; }

}  // namespace

absl::StatusOr<std::span<const uint8_t>> ImageShrinker::Shrink(std::span<const uint8_t> bytes,
                                                               const ImageInfo& info) {
  PENSTOCK_ASSIGN_OR_RETURN(const DecodedImage image,
                            decoder_.Decode(bytes, {.channels = IsGrey(info) ? 1 : 3}));
  const PixelView& stored = image.pixels;
  const Size size = ReducedSize({stored.width, stored.height}, options_.max_side);
  PixelView smaller = {nullptr, size.width, size.height, stored.channels};
  uint8_t* out = reduced_.Reserve(smaller.bytes());
  smaller.data = out;
  resampler_.Resize({stored}, WholeResized(stored, size.width, size.height), out);
  return encoder_.Encode(smaller, {.quality = options_.quality, .orientation = info.orientation});
}

}  // namespace penstock
