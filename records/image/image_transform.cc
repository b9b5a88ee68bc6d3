#include "records/image/image_transform.h"

#include <algorithm>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace penstock {
namespace {

// The longer side after ResizeShorter(). Only pictures thousands of times as long as wide exceed
// it.
constexpr uint64_t kMaxResizedSide = uint64_t{1} << 24;

// What one image is rendered with.
struct Rendering {
  const PixelView& picture;
  const ImageOps& ops;
  const Uniforms& uniforms;
  Resampler& resampler;
  uint8_t* out;

  Size size() const { return {picture.width, picture.height}; }
  bool flip() const { return Flip(ops.flip_probability, uniforms); }

  // `rect` of the picture as `resized`, of which `window` is the output.
  void Resize(const CropRect& rect, const Size& resized, const CropRect& window) const {
    const double left = static_cast<double>(rect.left), top = static_cast<double>(rect.top);
    const ResizeRequest request{.box = {left, top, left + rect.width, top + rect.height},
                                .width = resized.width,
                                .height = resized.height,
                                .window_left = static_cast<uint32_t>(window.left),
                                .window_top = static_cast<uint32_t>(window.top),
                                .window_width = window.width,
                                .window_height = window.height,
                                .interpolation = ops.interpolation,
                                .flip = flip()};
    resampler.Resize(picture, request, out);
  }
};

CropRect Whole(const Size& size) { return {0, 0, size.width, size.height}; }

absl::Status Render(const RandomResizedCropOp& op, const Rendering& rendering) {
  const CropRect rect = RandomResizedCrop(rendering.size(), op.ranges, rendering.uniforms);
  rendering.Resize(rect, op.output, Whole(op.output));
  return absl::OkStatus();
}

absl::Status Render(const ResizeOp& op, const Rendering& rendering) {
  rendering.Resize(Whole(rendering.size()), op.output, Whole(op.output));
  return absl::OkStatus();
}

absl::Status Render(const ResizeShorterOp& op, const Rendering& rendering) {
  const Size size = rendering.size();
  const uint64_t shorter = std::min(size.width, size.height);
  const uint64_t longer = std::max(size.width, size.height);
  if (longer * op.side / shorter > kMaxResizedSide) {
    return absl::InvalidArgumentError(
        absl::StrCat("resize_shorter: a picture of ", size.width, "x", size.height,
                     " pixels would have more than ", kMaxResizedSide,
                     " on its longer side: crop it when you store it"));
  }
  const Size resized = ResizeShorter(size, op.side);
  rendering.Resize(Whole(size), resized, CenterCrop(resized, op.output));
  return absl::OkStatus();
}

absl::Status Render(const RandomCropOp& op, const Rendering& rendering) {
  const Size size = rendering.size();
  const uint64_t around = 2 * uint64_t{op.pixels_around};
  if (size.width + around < op.output.width || size.height + around < op.output.height) {
    return absl::InvalidArgumentError(
        absl::StrCat("random_crop: a picture of ", size.width, "x", size.height, " pixels with ",
                     op.pixels_around, " around it has no part of ", op.output.width, "x",
                     op.output.height, ": use more padding, or an operation that resizes"));
  }
  const CropRect rect = RandomCrop(size, op.output, op.pixels_around, rendering.uniforms);
  CopyPadded(rendering.picture, rect, op.padding, rendering.flip(), rendering.out);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ImageNotes> ImageTransform::Apply(std::span<const uint8_t> bytes,
                                                 const ImageOps& ops, const Uniforms& uniforms,
                                                 std::span<uint8_t> out, ImageMemory* memory) {
  PENSTOCK_ASSIGN_OR_RETURN(const ImageInfo info, ProbeImage(bytes));
  PENSTOCK_RETURN_IF_ERROR(CheckImageLimits(info, ops.limits));
  PENSTOCK_ASSIGN_OR_RETURN(const ImageMemoryLease lease,
                            ImageMemoryLease::Take(memory, TransformMemory(info, ops)));
  absl::StatusOr<ImageNotes> notes = DecodeAndRender(bytes, info, ops, uniforms, out);
  decoder_.Trim();  // While the lease lasts.
  return notes;
}

absl::StatusOr<ImageNotes> ImageTransform::DecodeAndRender(std::span<const uint8_t> bytes,
                                                           const ImageInfo& info,
                                                           const ImageOps& ops,
                                                           const Uniforms& uniforms,
                                                           std::span<uint8_t> out) {
  const ImageDecodeOptions options{.channels = ops.channels,
                                   .orient = ops.orient,
                                   .fill_truncated = ops.fill_truncated,
                                   .limits = ops.limits};
  PENSTOCK_ASSIGN_OR_RETURN(const DecodedImage image, decoder_.Decode(bytes, info, options));
  const Rendering rendering{image.pixels, ops, uniforms, resampler_, out.data()};
  PENSTOCK_RETURN_IF_ERROR(
      std::visit([&](const auto& op) { return Render(op, rendering); }, ops.crop));
  return image.notes;
}

uint64_t TransformMemory(const ImageInfo& info, const ImageOps& ops) {
  const Size output = ops.output();
  // A crop or a turn may exchange which side is the longer one.
  const uint64_t longer = std::max(info.width, info.height);
  return DecodeMemory(info, ops.channels, ops.orient) +
         ResizeMemory(longer, longer, output.width, output.height, ops.channels);
}

}  // namespace penstock
