#include "records/image/scaled_decoding.h"

#include "records/image/geometry.h"
#include "records/image/image_decoder.h"
#include "records/image/orientation.h"

namespace penstock {
namespace {

bool KeepsTwice(double box_side, uint32_t shrink, uint32_t resized_side) {
  return box_side / shrink >= 2.0 * resized_side;
}

// Returns the coordinate of `place` in the shrunk picture, whose side is `shrunk_side`. The picture
// may not fill the last pixel of that side. If the side is counted from the far end, this pixel
// comes first.
double ShrunkPlace(double place, uint32_t shrink, uint32_t side, uint32_t shrunk_side, bool far) {
  const double before = far ? shrunk_side - static_cast<double>(side) / shrink : 0;
  return before + place / shrink;
}

}  // namespace

uint32_t ShrinkFor(const ImageInfo& info, const ResizeRequest& request) {
  if (info.format != ImageFormat::kJpeg) return 1;
  const ResizeRequest::Box& box = request.box;
  for (const uint32_t shrink : {4, 2}) {
    if (KeepsTwice(box.right - box.left, shrink, request.width) &&
        KeepsTwice(box.bottom - box.top, shrink, request.height)) {
      return shrink;
    }
  }
  return 1;
}

ResizeRequest Shrunk(ResizeRequest request, uint32_t shrink, const ImageInfo& info, bool orient) {
  const Size picture = PictureSize(info, orient), shrunk = ShrunkSize(picture, shrink);
  const FarSides far = FarSidesOf(orient ? info.orientation : 1);
  const auto across = [&](double x) {
    return ShrunkPlace(x, shrink, picture.width, shrunk.width, far.left);
  };
  const auto down = [&](double y) {
    return ShrunkPlace(y, shrink, picture.height, shrunk.height, far.top);
  };
  const ResizeRequest::Box& box = request.box;
  request.box = {across(box.left), down(box.top), across(box.right), down(box.bottom)};
  return request;
}

}  // namespace penstock
