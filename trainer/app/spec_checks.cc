#include "trainer/app/spec_checks.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "client/loader/dataset_spec.h"
#include "client/loader/sample_names.h"
#include "records/dataset/feature_info.h"
#include "records/decode/program.h"
#include "records/decode/spec.h"
#include "trainer/app/restore.h"

namespace penstock {

namespace {

// "image u8 [72, 72, 3], label i64 []"
std::string DescribeTensors(std::span<const TensorInfo> tensors) {
  return absl::StrJoin(tensors, ", ", [](std::string* out, const TensorInfo& tensor) {
    absl::StrAppend(out, tensor.name, " ", DtypeName(tensor.dtype), " [",
                    absl::StrJoin(tensor.shape, ", "), "]");
  });
}

// A tensor of unknown shape, such as `length` bytes, matches if it has as many values.
bool HasShape(const TensorInfo& tensor, std::span<const uint32_t> shape) {
  if (std::equal(tensor.shape.begin(), tensor.shape.end(), shape.begin(), shape.end())) return true;
  const size_t values =
      std::accumulate(shape.begin(), shape.end(), size_t{1}, std::multiplies<size_t>());
  return tensor.shape.size() == 1 && tensor.shape[0] == values;
}

bool HasTensor(std::span<const TensorInfo> tensors, absl::string_view name, Dtype dtype,
               std::span<const uint32_t> shape) {
  return std::any_of(tensors.begin(), tensors.end(), [&](const TensorInfo& tensor) {
    return tensor.name == name && tensor.dtype == dtype && HasShape(tensor, shape);
  });
}

bool ReadsImages(const ModelConfig& model, std::span<const TensorInfo> tensors) {
  const auto side = static_cast<uint32_t>(model.side);
  const uint32_t image[] = {side, side, 3};
  return HasTensor(tensors, "image", Dtype::kU8, image) &&
         HasTensor(tensors, "label", Dtype::kI64, {});
}

// Whether the built-in spec `name` reads records with `features`, as far as the features are known.
bool ReadsRecords(const std::string& name, const FeatureSummary& features) {
  const absl::StatusOr<v1::DecodeSpec> spec = LoadSpec(name);
  return spec.ok() &&
         CheckSpecFits(WithSampleNames(*spec, features), features, RecordFormat::kExample).ok();
}

// The image models that read `tensors`: "--model vit".
std::vector<std::string> ImageModelsOf(std::span<const TensorInfo> tensors) {
  std::vector<std::string> models;
  for (const std::string& name : ModelConfig::Names()) {
    const absl::StatusOr<ModelConfig> model = ModelConfig::Named(name);
    if (model.ok() && model->is_image() && ReadsImages(*model, tensors)) {
      models.push_back(absl::StrCat("--model ", name));
    }
  }
  return models;
}

// Returns what to give instead of `given`; the text begins with ": ".
std::string ImageSpecAdvice(const GivenImageSpec& given, const ModelConfig& model,
                            const FeatureSummary& features) {
  const std::string builtin = absl::StrCat(given.builtin, ":", model.side);
  if (ReadsRecords(builtin, features)) {
    return absl::StrCat(": give ", given.option, " ", builtin,
                        ", or your own spec with these tensors (docs/guides/training.md)");
  }
  if (HasChessFeatures(features)) {
    return ": the records are chess positions; give --model tiny, default or large";
  }
  return absl::StrCat(": write a spec that makes these tensors from the records' features ",
                      NamesOf(features.features), " (docs/guides/training.md)");
}

std::string ModelAdvice(std::span<const TensorInfo> tensors, const FeatureSummary& features) {
  std::vector<std::string> models = ImageModelsOf(tensors);
  if (!features.features.empty() && ReadsRecords("images-train:72", features)) {
    models.push_back("--model vit-tiny --spec images-train:72");
  }
  if (!models.empty()) {
    return absl::StrCat("These are images: give ", absl::StrJoin(models, " or "));
  }
  return "penstock-train trains on chess positions and, with --model vit, vit-small or vit-tiny, "
         "on images (docs/guides/training.md); penstock stream and the Loader read other data";
}

// Adds to `failed` what the spec has and which model would read it.
absl::Status WithModelAdvice(const absl::Status& failed, const ModelConfig& model,
                             const v1::DecodeSpec& spec, const FeatureSummary& features) {
  const absl::StatusOr<Program> program = Program::Compile(spec, WireDtype::kI8);
  if (!program.ok()) return program.status();
  return absl::InvalidArgumentError(absl::StrCat(
      failed.message(), ", which --model ", model.name, " predicts; its tensors are ",
      DescribeTensors(program->tensors()), ". ", ModelAdvice(program->tensors(), features)));
}

absl::Status CheckBoardSpecs(const TrainingSpecs& specs, const ModelConfig& model,
                             const FeatureSummary& features) {
  const absl::StatusOr<MateScoreParams> params = ScoreParamsOf(specs.train_title, specs.train);
  if (!params.ok()) return WithModelAdvice(params.status(), model, specs.train, features);
  PENSTOCK_ASSIGN_OR_RETURN(const MateScoreParams judged,
                            ScoreParamsOf(specs.eval_title, specs.eval));
  if (DescribeTargets(judged) == DescribeTargets(*params)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      specs.eval_title, " has other score targets (", DescribeTargets(judged),
      ") than the training's spec (", DescribeTargets(*params), "); use the same formula in both"));
}

}  // namespace

std::string SpecTitle(const TrainerOptions& options, absl::string_view chosen) {
  if (options.source.spec.empty()) return absl::StrCat(chosen, " (--spec names another)");
  return absl::StrCat("--spec ", options.source.spec);
}

std::string EvalSpecTitle(const TrainerOptions& options, absl::string_view chosen) {
  if (options.eval_spec.empty())
    return absl::StrCat("the evaluation spec made from ", SpecTitle(options, chosen));
  return absl::StrCat("--eval-spec ", options.eval_spec);
}

absl::Status CheckImageSpec(const GivenImageSpec& given, absl::string_view reader,
                            const ModelConfig& model, const FeatureSummary& features) {
  PENSTOCK_ASSIGN_OR_RETURN(const Program program, Program::Compile(given.spec, WireDtype::kI8));
  if (ReadsImages(model, program.tensors())) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(given.title, " has tensors ", DescribeTensors(program.tensors()), ", but ",
                   reader, " reads image u8 [", model.side, ", ", model.side,
                   ", 3] and label i64 []", ImageSpecAdvice(given, model, features)));
}

absl::StatusOr<MateScoreParams> ScoreParamsOf(absl::string_view title, const v1::DecodeSpec& spec) {
  for (const v1::TensorSpec& tensor : spec.tensor()) {
    if (tensor.name() != "score" || !tensor.has_mate_score()) continue;
    return MateScoreParams{tensor.mate_score().a(), tensor.mate_score().b(),
                           tensor.mate_score().k()};
  }
  return absl::InvalidArgumentError(absl::StrCat(title, " has no mate_score tensor 'score'"));
}

absl::Status CheckSpecs(const TrainingSpecs& specs, const ModelConfig& model,
                        const FeatureSummary& features) {
  if (!model.is_image()) return CheckBoardSpecs(specs, model, features);
  const std::string reader = absl::StrCat("--model ", model.name);
  PENSTOCK_RETURN_IF_ERROR(CheckImageSpec(
      {specs.train, specs.train_title, "--spec", "images-train"}, reader, model, features));
  return CheckImageSpec({specs.eval, specs.eval_title, "--eval-spec", "images-eval"}, reader, model,
                        features);
}

}  // namespace penstock
