// Facts about classes and labels, for messages of a training or an evaluation.
#ifndef PENSTOCK_TRAINER_APP_LABEL_FACTS_H_
#define PENSTOCK_TRAINER_APP_LABEL_FACTS_H_

#include "absl/strings/string_view.h"
#include "proto/decode_spec.pb.h"
#include "records/dataset/manifest.h"
#include "trainer/input/label_error.h"
#include "trainer/model/model_config.h"

namespace penstock {

// Builds the facts for `model`, which must be of images. `from` is the source of its number of
// classes. `spec` reads the records of `manifest`; `builtin` is the built-in spec that could read
// them: "images-train". `manifest` must outlive the result.
LabelFacts LabelFactsOf(const ModelConfig& model, ClassesFrom from, const Manifest& manifest,
                        const v1::DecodeSpec& spec, absl::string_view builtin);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_LABEL_FACTS_H_
