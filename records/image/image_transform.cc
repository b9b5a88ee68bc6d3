#include "records/image/image_transform.h"

#include <algorithm>
#include <variant>

#include "base/status.h"
#include "records/image/scaled_decoding.h"

namespace penstock {

absl::StatusOr<ImageNotes> ImageTransform::Apply(std::span<const uint8_t> bytes,
                                                 const ImageOps& ops, const Uniforms& uniforms,
                                                 std::span<uint8_t> out, ImageMemory* memory) {
  PENSTOCK_ASSIGN_OR_RETURN(const ImageInfo info, ProbeImage(bytes));
  PENSTOCK_RETURN_IF_ERROR(CheckImageLimits(info, ops.limits));
  PENSTOCK_ASSIGN_OR_RETURN(const Rendering rendering,
                            RenderingOf(ops, PictureSize(info, ops.orient), uniforms));
  if (memory == nullptr) return DecodeAndRender(bytes, info, ops, rendering, out);
  const uint64_t needed = TransformMemory(info, ops);
  PENSTOCK_ASSIGN_OR_RETURN(const ImageMemoryLease lease, ImageMemoryLease::Take(memory, needed));
  const uint64_t kept = decoder_.kept_bytes();
  memory->Update(kept, kept + needed);
  absl::StatusOr<ImageNotes> notes = DecodeAndRender(bytes, info, ops, rendering, out);
  decoder_.Trim(memory->unasked_bytes());  // The lease must still be held here.
  memory->Update(kept + needed, decoder_.kept_bytes());
  return notes;
}

absl::StatusOr<ImageNotes> ImageTransform::DecodeAndRender(std::span<const uint8_t> bytes,
                                                           const ImageInfo& info,
                                                           const ImageOps& ops,
                                                           const Rendering& rendering,
                                                           std::span<uint8_t> out) {
  const auto decode_and_render = [&](const auto& request) -> absl::StatusOr<ImageNotes> {
    ImageDecodeOptions options = ops.decode_options();
    if (ops.scaled_decoding) options.shrink = ShrinkFor(info, request);
    const auto shrunk = Shrunk(request, options.shrink, info, ops.orient);
    PENSTOCK_ASSIGN_OR_RETURN(const DecodedImage image,
                              decoder_.DecodeRegion(bytes, info, options, PartRead(shrunk)));
    Render(shrunk, {image.pixels, image.left, image.top}, out.data());
    return image.notes;
  };
  return std::visit(decode_and_render, rendering);
}

uint64_t TransformMemory(const ImageInfo& info, const ImageOps& ops) {
  const Size output = ops.output();
  // After a crop or a turn, the other side may be the longer one.
  const uint64_t longer = std::max(info.width, info.height);
  return DecodeMemory(info, ops.channels, ops.orient) +
         ResizeMemory(longer, longer, output.width, output.height, ops.channels);
}

}  // namespace penstock
