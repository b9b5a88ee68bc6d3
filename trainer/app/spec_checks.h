// Whether a decode spec has what a model reads.
#ifndef PENSTOCK_TRAINER_APP_SPEC_CHECKS_H_
#define PENSTOCK_TRAINER_APP_SPEC_CHECKS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/decode_spec.pb.h"
#include "records/decode/score.h"
#include "trainer/app/options.h"
#include "trainer/model/model_config.h"

namespace penstock {

// "--spec images.textproto" or "--eval-spec ...", or what stands for it.
std::string SpecTitle(const TrainerOptions& options);
std::string EvalSpecTitle(const TrainerOptions& options);

// kInvalidArgument unless `spec` has the tensors that a model of images reads. `title` names the
// spec: "--spec images.textproto"; `builtin` is the option and the built-in spec that would do,
// without their size: "--spec images-train".
absl::Status CheckImageSpec(absl::string_view title, const ModelConfig& model,
                            const v1::DecodeSpec& spec, absl::string_view builtin);

// How the scores of records become targets. kInvalidArgument: the spec has none.
absl::StatusOr<MateScoreParams> ScoreParamsOf(absl::string_view title, const v1::DecodeSpec& spec);

// Whether `model` can train and be evaluated on what the two specs make of records.
// kInvalidArgument says what the spec has, and which --model or spec to give; or that the targets
// of the two differ.
absl::Status CheckSpecs(const TrainerOptions& options, const ModelConfig& model,
                        const v1::DecodeSpec& spec, const v1::DecodeSpec& eval_spec);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_SPEC_CHECKS_H_
