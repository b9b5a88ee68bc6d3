#include "records/image/rendering.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

// Limit of the longer side after ResizeShorter(). Only pictures that are thousands of times as long
// as wide exceed it.
constexpr uint64_t kMaxResizedSide = uint64_t{1} << 24;

// The inputs of a rendering, apart from its crop.
struct Context {
  const ImageOps& ops;
  const Size& picture;
  const Uniforms& uniforms;

  bool flip() const { return Flip(ops.flip_probability, uniforms); }

  // Resizes `rect` of the picture to `resized`. The output is the part `window` of the resized
  // picture.
  ResizeRequest Resize(const CropRect& rect, const Size& resized, const CropRect& window) const {
    const double left = static_cast<double>(rect.left), top = static_cast<double>(rect.top);
    return {.box = {left, top, left + rect.width, top + rect.height},
            .width = resized.width,
            .height = resized.height,
            .window_left = static_cast<uint32_t>(window.left),
            .window_top = static_cast<uint32_t>(window.top),
            .window_width = window.width,
            .window_height = window.height,
            .interpolation = ops.interpolation,
            .flip = flip()};
  }
};

CropRect Whole(const Size& size) { return {0, 0, size.width, size.height}; }

absl::StatusOr<Rendering> Of(const RandomResizedCropOp& op, const Context& context) {
  const CropRect rect = RandomResizedCrop(context.picture, op.ranges, context.uniforms);
  return context.Resize(rect, op.output, Whole(op.output));
}

absl::StatusOr<Rendering> Of(const ResizeOp& op, const Context& context) {
  return context.Resize(Whole(context.picture), op.output, Whole(op.output));
}

absl::StatusOr<Rendering> Of(const ResizeShorterOp& op, const Context& context) {
  const Size size = context.picture;
  const uint64_t shorter = std::min(size.width, size.height);
  const uint64_t longer = std::max(size.width, size.height);
  if (longer * op.side / shorter > kMaxResizedSide) {
    return absl::InvalidArgumentError(
        absl::StrCat("resize_shorter: a picture of ", size.width, "x", size.height,
                     " pixels would have more than ", kMaxResizedSide,
                     " on its longer side: crop it when you store it"));
  }
  const Size resized = ResizeShorter(size, op.side);
  return context.Resize(Whole(size), resized, CenterCrop(resized, op.output));
}

absl::StatusOr<Rendering> Of(const RandomCropOp& op, const Context& context) {
  const Size size = context.picture;
  const uint64_t around = 2 * uint64_t{op.pixels_around};
  if (size.width + around < op.output.width || size.height + around < op.output.height) {
    return absl::InvalidArgumentError(absl::StrCat(
        "random_crop: a picture of ", size.width, "x", size.height, " pixels with padding ",
        op.pixels_around, " is smaller than the crop of ", op.output.width, "x", op.output.height,
        ": use more padding, or an operation that resizes"));
  }
  return PaddedCrop{.picture = size,
                    .rect = RandomCrop(size, op.output, op.pixels_around, context.uniforms),
                    .padding = op.padding,
                    .flip = context.flip()};
}

}  // namespace

absl::StatusOr<Rendering> RenderingOf(const ImageOps& ops, const Size& picture,
                                      const Uniforms& uniforms) {
  const Context context{ops, picture, uniforms};
  return std::visit([&](const auto& op) { return Of(op, context); }, ops.crop);
}

}  // namespace penstock
