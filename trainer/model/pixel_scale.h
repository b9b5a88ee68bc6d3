// How pixels become numbers.
#ifndef PENSTOCK_TRAINER_MODEL_PIXEL_SCALE_H_
#define PENSTOCK_TRAINER_MODEL_PIXEL_SCALE_H_

#include "kernels/reference/images.h"

namespace penstock {

// By the mean and deviation of ImageNet's red, green and blue, as is usual.
inline const reference::PixelScale kPixelScale =
    reference::PixelScale::Of({0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f});

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_MODEL_PIXEL_SCALE_H_
