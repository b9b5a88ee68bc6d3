// Whether a decode spec has what a model reads.
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

// "--spec images.textproto" or "--eval-spec ...", or what stands for it: `chosen` is
// SpecChoice::name.
std::string SpecTitle(const TrainerOptions& options, absl::string_view chosen);
std::string EvalSpecTitle(const TrainerOptions& options, absl::string_view chosen);

// A spec that a model of images is to read, and what can be given instead.
struct GivenImageSpec {
  const v1::DecodeSpec& spec;
  std::string title;    // Names it: "--spec images.textproto".
  std::string option;   // "--spec"
  std::string builtin;  // Without its size: "images-train".
};

// kInvalidArgument unless it has the tensors that `model` reads. `reader` names the model:
// "--model vit". Says what to give that reads records with `features`.
absl::Status CheckImageSpec(const GivenImageSpec& given, absl::string_view reader,
                            const ModelConfig& model, const FeatureSummary& features);

// How the scores of records become targets. kInvalidArgument: the spec has none.
absl::StatusOr<MateScoreParams> ScoreParamsOf(absl::string_view title, const v1::DecodeSpec& spec);

struct TrainingSpecs {
  const v1::DecodeSpec& train;
  const v1::DecodeSpec& eval;
  std::string train_title;  // SpecTitle()
  std::string eval_title;   // EvalSpecTitle()
};

// Whether `model` can train and be evaluated on what the two specs make of records with `features`.
// kInvalidArgument says what the spec has, and which --model or spec to give; or that the targets
// of the two differ.
absl::Status CheckSpecs(const TrainingSpecs& specs, const ModelConfig& model,
                        const FeatureSummary& features);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_SPEC_CHECKS_H_
