// Checks that a decode spec has the tensors that a model reads.
#ifndef PENSTOCK_TRAINER_APP_SPEC_CHECKS_H_
#define PENSTOCK_TRAINER_APP_SPEC_CHECKS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/decode_spec.pb.h"
#include "records/dataset/feature_info.h"
#include "records/decode/score.h"
#include "trainer/app/options.h"
#include "trainer/model/model_config.h"

namespace penstock {

// "--spec images.textproto" or "--eval-spec ...", or a name for the default spec if the option is
// not given. `chosen` is SpecChoice::name.
std::string SpecTitle(const TrainerOptions& options, absl::string_view chosen);
std::string EvalSpecTitle(const TrainerOptions& options, absl::string_view chosen);

// A spec that an image model is to read, and what can be given instead.
struct GivenImageSpec {
  const v1::DecodeSpec& spec;
  std::string title;    // For messages: "--spec images.textproto".
  std::string option;   // "--spec"
  std::string builtin;  // Name without the size: "images-train".
};

// kInvalidArgument unless the spec has the tensors that `model` reads; the message says which spec
// reads records with `features`. `reader` names the model: "--model vit".
absl::Status CheckImageSpec(const GivenImageSpec& given, absl::string_view reader,
                            const ModelConfig& model, const FeatureSummary& features);

// Returns the parameters with which the spec turns scores into targets. kInvalidArgument: it has no
// scores.
absl::StatusOr<MateScoreParams> ScoreParamsOf(absl::string_view title, const v1::DecodeSpec& spec);

struct TrainingSpecs {
  const v1::DecodeSpec& train;
  const v1::DecodeSpec& eval;
  std::string train_title;  // The result of SpecTitle().
  std::string eval_title;   // The result of EvalSpecTitle().
};

// Checks that `model` can train and be evaluated on the tensors that the two specs make of records
// with `features`. kInvalidArgument: the message says what the spec has and which --model or spec
// to give, or that the targets of the two specs differ.
absl::Status CheckSpecs(const TrainingSpecs& specs, const ModelConfig& model,
                        const FeatureSummary& features);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_SPEC_CHECKS_H_
