#include "trainer/app/spec_checks.h"

#include <algorithm>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "records/dataset/feature_info.h"
#include "records/decode/program.h"
#include "trainer/app/restore.h"
#include "trainer/step/input_format.h"

namespace penstock {

namespace {

// "image u8 [72, 72, 3], label i64 []"
std::string DescribeTensors(std::span<const TensorInfo> tensors) {
  return absl::StrJoin(tensors, ", ", [](std::string* out, const TensorInfo& tensor) {
    absl::StrAppend(out, tensor.name, " ", DtypeName(tensor.dtype), " [",
                    absl::StrJoin(tensor.shape, ", "), "]");
  });
}

bool HasTensor(std::span<const TensorInfo> tensors, absl::string_view name, Dtype dtype,
               size_t row_bytes) {
  return std::any_of(tensors.begin(), tensors.end(), [&](const TensorInfo& tensor) {
    return tensor.name == name && tensor.dtype == dtype && tensor.row_bytes == row_bytes;
  });
}

bool ReadsImages(const ModelConfig& model, std::span<const TensorInfo> tensors) {
  return HasTensor(tensors, "image", Dtype::kU8, ImagesOf(model.side).input_bytes) &&
         HasTensor(tensors, "label", Dtype::kI64, sizeof(int64_t));
}

// The models of images that read what a spec makes: "--model vit"; first those that read `tensors`.
std::vector<std::string> ImageModelsFor(const v1::DecodeSpec& spec,
                                        std::span<const TensorInfo> tensors) {
  std::vector<std::string> models;
  for (const std::string& name : ModelConfig::Names()) {
    const absl::StatusOr<ModelConfig> model = ModelConfig::Named(name);
    if (model.ok() && model->is_image() && ReadsImages(*model, tensors)) {
      models.push_back(absl::StrCat("--model ", name));
    }
  }
  const bool encoded =
      std::any_of(spec.tensor().begin(), spec.tensor().end(), [](const v1::TensorSpec& tensor) {
        return tensor.has_image() && tensor.image().feature() == kImageFeature;
      });
  if (encoded) models.push_back("--model vit-tiny --spec images-train:72");
  return models;
}

std::string ModelAdvice(const v1::DecodeSpec& spec, std::span<const TensorInfo> tensors) {
  const std::vector<std::string> models = ImageModelsFor(spec, tensors);
  if (!models.empty()) {
    return absl::StrCat("These are images: give ", absl::StrJoin(models, " or "));
  }
  return "penstock-train trains on chess positions and, with --model vit, vit-small or vit-tiny, "
         "on images (docs/guides/training.md); penstock stream and the Loader read other data";
}

// `failed`, with what the spec has and the model that would do.
absl::Status WithModelAdvice(const absl::Status& failed, const ModelConfig& model,
                             const v1::DecodeSpec& spec) {
  const absl::StatusOr<Program> program = Program::Compile(spec, WireDtype::kI8);
  if (!program.ok()) return program.status();
  return absl::InvalidArgumentError(absl::StrCat(
      failed.message(), ", which --model ", model.name, " predicts; it has ",
      DescribeTensors(program->tensors()), ". ", ModelAdvice(spec, program->tensors())));
}

absl::Status CheckBoardSpecs(const TrainerOptions& options, const ModelConfig& model,
                             const v1::DecodeSpec& spec, const v1::DecodeSpec& eval_spec) {
  const absl::StatusOr<MateScoreParams> params = ScoreParamsOf(SpecTitle(options), spec);
  if (!params.ok()) return WithModelAdvice(params.status(), model, spec);
  PENSTOCK_ASSIGN_OR_RETURN(const MateScoreParams judged,
                            ScoreParamsOf(EvalSpecTitle(options), eval_spec));
  if (DescribeTargets(judged) == DescribeTargets(*params)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(EvalSpecTitle(options), " has other targets (",
                                                 DescribeTargets(judged), ") than the training (",
                                                 DescribeTargets(*params), ")"));
}

}  // namespace

std::string SpecTitle(const TrainerOptions& options) {
  if (options.source.spec.empty()) return "the data's spec (--spec names another)";
  return absl::StrCat("--spec ", options.source.spec);
}

std::string EvalSpecTitle(const TrainerOptions& options) {
  if (options.eval_spec.empty())
    return absl::StrCat("the evaluation's counterpart of ", SpecTitle(options));
  return absl::StrCat("--eval-spec ", options.eval_spec);
}

absl::Status CheckImageSpec(absl::string_view title, const ModelConfig& model,
                            const v1::DecodeSpec& spec, absl::string_view builtin) {
  PENSTOCK_ASSIGN_OR_RETURN(const Program program, Program::Compile(spec, WireDtype::kI8));
  if (ReadsImages(model, program.tensors())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      title, " has ", DescribeTensors(program.tensors()), "; --model ", model.name,
      " reads image u8 [", model.side, ", ", model.side, ", 3] and label i64 []: give ", builtin,
      ":", model.side, ", or a spec of your own with these (docs/guides/training.md)"));
}

absl::StatusOr<MateScoreParams> ScoreParamsOf(absl::string_view title, const v1::DecodeSpec& spec) {
  for (const v1::TensorSpec& tensor : spec.tensor()) {
    if (tensor.name() != "score" || !tensor.has_mate_score()) continue;
    return MateScoreParams{tensor.mate_score().a(), tensor.mate_score().b(),
                           tensor.mate_score().k()};
  }
  return absl::InvalidArgumentError(absl::StrCat(title, " has no mate_score called score"));
}

absl::Status CheckSpecs(const TrainerOptions& options, const ModelConfig& model,
                        const v1::DecodeSpec& spec, const v1::DecodeSpec& eval_spec) {
  if (!model.is_image()) return CheckBoardSpecs(options, model, spec, eval_spec);
  PENSTOCK_RETURN_IF_ERROR(CheckImageSpec(SpecTitle(options), model, spec, "--spec images-train"));
  return CheckImageSpec(EvalSpecTitle(options), model, eval_spec, "--eval-spec images-eval");
}

}  // namespace penstock
