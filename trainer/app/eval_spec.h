// The decode spec that evaluations read with.
#ifndef PENSTOCK_TRAINER_APP_EVAL_SPEC_H_
#define PENSTOCK_TRAINER_APP_EVAL_SPEC_H_

#include <string>

#include "proto/decode_spec.pb.h"

namespace penstock {

// Returns the evaluation's counterpart of `spec`: the same tensors, with nothing drawn at random
// where that can be said. It looks at what a spec does, not at its name or where it is from.
//   random_resized_crop  resize_shorter to 8/7 of the output's longer side, and the central part:
//                        images-train:72 becomes images-eval:72
//   flip below 1         no flip
//   random_crop          stays: a central part that is not resized has no operation
v1::DecodeSpec EvalSpecOf(v1::DecodeSpec spec);

// "random_crop of tensor 'image', flip of tensor 'mask'": what `spec` draws at random; empty:
// nothing.
std::string RandomOperationsOf(const v1::DecodeSpec& spec);

// The operation of the tensor that models of images read; null: it is not of encoded images.
const v1::Image* ImageOf(const v1::DecodeSpec& spec);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_EVAL_SPEC_H_
