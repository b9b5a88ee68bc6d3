// Turns the operations of an image into coordinates of a picture of known size.
#ifndef PENSTOCK_RECORDS_IMAGE_RENDERING_H_
#define PENSTOCK_RECORDS_IMAGE_RENDERING_H_

#include <variant>

#include "absl/status/statusor.h"
#include "records/image/image_ops.h"
#include "records/image/padded_crop.h"
#include "records/image/resampler.h"
#include "records/image/uniforms.h"

namespace penstock {

// Says how the output is made from the picture.
using Rendering = std::variant<ResizeRequest, PaddedCrop>;

// Returns the rendering for a picture of this size. The size is that after turning.
// kInvalidArgument: the picture is smaller than a random crop, or too long to be resized.
// REQUIRES: ops.Validate() is OK; the picture is not empty.
absl::StatusOr<Rendering> RenderingOf(const ImageOps& ops, const Size& picture,
                                      const Uniforms& uniforms);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_RENDERING_H_
