// The decode spec that evaluations read with.
#ifndef PENSTOCK_TRAINER_APP_EVAL_SPEC_H_
#define PENSTOCK_TRAINER_APP_EVAL_SPEC_H_

#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

// The default of --eval-spec: for a built-in spec that draws at random, the one that does not,
// with the same arguments ("images-train:72" has "images-eval:72"); else `spec` itself.
std::string MatchingEvalSpec(absl::string_view spec);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_EVAL_SPEC_H_
