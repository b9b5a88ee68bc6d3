#include "cli/pack/image_shrinker.h"

#include <algorithm>

#include "base/status.h"

namespace penstock {
namespace {

bool IsGrey(const ImageInfo& info) { return info.components <= 2 && !info.palette; }

}  // namespace

Size ReducedSize(const Size& picture, uint32_t max_side) {
  const uint64_t longer = std::max(picture.width, picture.height);
  const auto reduced = [&](uint64_t side) {
    return static_cast<uint32_t>(std::max<uint64_t>((side * max_side + longer / 2) / longer, 1));
  };
  return {reduced(picture.width), reduced(picture.height)};
}

absl::StatusOr<std::span<const uint8_t>> ImageShrinker::Shrink(std::span<const uint8_t> bytes,
                                                               const ImageInfo& info) {
  PENSTOCK_ASSIGN_OR_RETURN(const DecodedImage image,
                            decoder_.Decode(bytes, {.channels = IsGrey(info) ? 1 : 3}));
  const PixelView& stored = image.pixels;
  const Size size = ReducedSize({stored.width, stored.height}, options_.max_side);
  PixelView smaller = {nullptr, size.width, size.height, stored.channels};
  uint8_t* out = reduced_.Reserve(smaller.bytes());
  smaller.data = out;
  resampler_.Resize(stored,
                    {.box = {.right = static_cast<double>(stored.width),
                             .bottom = static_cast<double>(stored.height)},
                     .width = size.width,
                     .height = size.height,
                     .window_width = size.width,
                     .window_height = size.height},
                    out);
  return encoder_.Encode(smaller, {.quality = options_.quality, .orientation = info.orientation});
}

}  // namespace penstock
