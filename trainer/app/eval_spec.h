// The decode spec for evaluations.
#ifndef PENSTOCK_TRAINER_APP_EVAL_SPEC_H_
#define PENSTOCK_TRAINER_APP_EVAL_SPEC_H_

#include <string>

#include "proto/decode_spec.pb.h"

namespace penstock {

// Returns the evaluation's counterpart of `spec`: the same tensors without random operations, where
// a replacement exists. Only the operations of the spec matter, not its name or origin.
//   random_resized_crop  resize_shorter to 8/7 of the output's longer side, and the central part:
//                         images-train:72 becomes images-eval:72
//   flip below 1         no flip
//   random_crop          stays: no operation takes a central part without resizing
v1::DecodeSpec EvalSpecOf(v1::DecodeSpec spec);

// The random operations of `spec`: "random_crop of tensor 'image', flip of tensor 'mask'". Empty if
// there are none.
std::string RandomOperationsOf(const v1::DecodeSpec& spec);

// The operation of the tensor that image models read; null if that tensor is not an encoded image.
const v1::Image* ImageOf(const v1::DecodeSpec& spec);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_EVAL_SPEC_H_
