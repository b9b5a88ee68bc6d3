// The mean and the standard deviation of the training images.
#ifndef PENSTOCK_TRAINER_APP_AUTO_PIXELS_H_
#define PENSTOCK_TRAINER_APP_AUTO_PIXELS_H_

#include "absl/status/statusor.h"
#include "proto/decode_spec.pb.h"
#include "records/dataset/manifest.h"
#include "trainer/model/pixel_statistics.h"

namespace penstock {

// Resolves --image-mean auto and --image-std auto. Returns the statistics that `manifest` has for
// the training images of the tensor `image` of `spec`. kInvalidArgument: the manifest has none (the
// message says what to do), or `spec` decodes no such images.
absl::StatusOr<PixelStatistics> AutoPixels(const Manifest& manifest, const v1::DecodeSpec& spec);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_AUTO_PIXELS_H_
