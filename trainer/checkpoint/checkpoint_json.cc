#include "trainer/checkpoint/checkpoint_json.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "nlohmann/json.hpp"
#include "trainer/checkpoint/json_fields.h"

namespace penstock {
namespace {

// Omits absent features, so that files of models without them stay unchanged.
nlohmann::json ModelToJson(const ModelConfig& model) {
  nlohmann::json json{{"name", model.name},
                      {"layers", model.layers},
                      {"dim", model.dim},
                      {"heads", model.heads},
                      {"hidden", model.hidden}};
  if (model.attention_bias) json["attention_bias"] = true;
  if (model.dropout != 0) json["dropout"] = model.dropout;
  if (model.head_dropout != 0) json["head_dropout"] = model.head_dropout;
  if (!model.is_image()) return json;
  json["image"] = {{"side", model.side},
                   {"patch", model.patch},
                   {"classes", model.classes},
                   {"attention_width", model.attention_width},
                   {"head", model.head},
                   {"flatten", model.flatten},
                   {"gelu_twice", model.gelu_twice},
                   {"mean", model.pixels.mean},
                   {"std", model.pixels.deviation}};
  return json;
}

nlohmann::json ToJson(const Parameter& parameter) {
  return {{"name", parameter.name}, {"shape", parameter.shape}};
}

// Larger values would make the parameter table large; no file with 1 MiB of JSON holds so many.
constexpr uint64_t kMostLayers = 4096, kMostWidth = uint64_t{1} << 20;

void ReadImage(const JsonFields& image, ModelConfig& model) {
  image.Read("side", model.side, 1, kMostWidth);
  image.Read("patch", model.patch, 1, kMostWidth);
  image.Read("classes", model.classes, 1, kMostClasses);
  image.Read("attention_width", model.attention_width, 0, kMostWidth);
  image.Read("head", model.head, 1, kMostWidth);
  image.Read("flatten", model.flatten);
  image.Read("gelu_twice", model.gelu_twice);
  image.ReadIfThere("mean", model.pixels.mean);
  image.ReadIfThere("std", model.pixels.deviation);
  if (model.head.size() > kMostLayers) {
    image.Refuse("head", absl::StrCat(model.head.size(), " layers; at most ", kMostLayers));
  }
}

ModelConfig ReadModel(const JsonFields& json) {
  ModelConfig model;
  json.Read("name", model.name);
  json.Read("layers", model.layers, 1, kMostLayers);
  json.Read("dim", model.dim, 1, kMostWidth);
  json.Read("heads", model.heads, 1, kMostWidth);
  json.Read("hidden", model.hidden, 1, kMostWidth);
  json.ReadIfThere("attention_bias", model.attention_bias);
  json.ReadIfThere("dropout", model.dropout);
  json.ReadIfThere("head_dropout", model.head_dropout);
  if (json.Has("image")) ReadImage(json.Object("image"), model);
  return model;
}

// Names and shapes identify the numbers.
absl::Status CheckParameters(const nlohmann::json& found, const ModelConfig& model) {
  PENSTOCK_RETURN_IF_ERROR(model.Validate());
  const ParameterTable table = ParameterTable::For(model);
  const std::vector<Parameter>& expected = table.parameters();
  if (!found.is_array() || found.size() != expected.size()) {
    return absl::DataLossError(absl::StrCat("field parameters: not a list of the model's ",
                                            expected.size(), " parameters"));
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    if (found[i] == ToJson(expected[i])) continue;
    return absl::DataLossError(absl::StrCat("field parameters: entry ", i, " is not ",
                                            expected[i].name, " [",
                                            absl::StrJoin(expected[i].shape, ", "), "]"));
  }
  return absl::OkStatus();
}

nlohmann::json BestToJson(const BestEvaluation& best) {
  return {{"step", best.step}, {"loss", best.loss}, {"evaluations_since", best.evaluations_since}};
}

// Reads the reduction, the compression and the batches per step. Older files have all three in one
// text: "deterministic of 2 batches a step", "fast bf16".
void ReadReduction(const JsonFields& json, CheckpointInfo& info) {
  json.ReadIfThere("reduction", info.reduction);
  const std::vector<std::string> words = absl::StrSplit(info.reduction, ' ');
  info.reduction = words[0];
  if (words.size() == 2 || words.size() == 7) info.compression = words[1];
  if (words.size() >= 6 && !absl::SimpleAtoi(words[words.size() - 4], &info.accumulate)) {
    json.Refuse("reduction", "the number of batches per step is not a number");
  }
  json.ReadIfThere("compression", info.compression);
  json.ReadIfThere("accumulate", info.accumulate, 1, kMostJsonCount);
}

BestEvaluation ReadBest(const JsonFields& json, uint64_t newest_step) {
  BestEvaluation best;
  json.Read("step", best.step, 0, newest_step);
  json.Read("loss", best.loss);
  // There is at most one evaluation per step.
  json.Read("evaluations_since", best.evaluations_since, 0, newest_step - best.step);
  return best;
}

// Reads the fields that older files lack.
void ReadNewFields(const JsonFields& json, CheckpointInfo& info) {
  ReadReduction(json, info);
  json.ReadIfThere("remainder", info.remainder);
  json.ReadIfThere("targets", info.targets);
  json.ReadIfThere("precision", info.precision);
  json.ReadIfThere("gemm_plan", info.gemm_plan);
  json.ReadIfThere("libraries", info.libraries);
  json.ReadIfThere("world_size", info.world_size, 1, kMostJsonCount);
  if (json.Has("best")) {
    info.best = ReadBest(json.Object("best"), info.step);
    // Older files lack judged_step, and no evaluation after the best one is certain.
    info.judged_step = info.best->step;
  }
  json.ReadIfThere("judged_step", info.judged_step, info.judged_step, info.step);
  json.ReadIfThere("class_names", info.class_names, info.model.classes);
  json.ReadIfThere("eval_spec", info.eval_spec);
}

absl::StatusOr<CheckpointInfo> ReadInfo(const nlohmann::json& object) {
  absl::Status status;
  const JsonFields json(object, "", status);
  CheckpointInfo info;
  info.model = ReadModel(json.Object("model"));
  json.Read("seed", info.seed, 0, UINT64_MAX);
  json.Read("step", info.step, 0, kMostJsonCount);
  json.Read("cursor", info.cursor);
  json.Read("global_batch_size", info.global_batch_size, 0, kMostJsonCount);
  json.Read("virtual_shards", info.virtual_shards, 0, kMostJsonCount);
  json.Read("block_rows", info.block_rows, 0, kMostJsonCount);
  json.Read("numerics", info.numerics);
  json.Read("score_sum", info.score_sum);
  json.Read("score_count", info.score_count, 0, kMostJsonCount);
  json.Read("version", info.version);
  ReadNewFields(json, info);
  const nlohmann::json& parameters = json.At("parameters");
  PENSTOCK_RETURN_IF_ERROR(status);
  PENSTOCK_RETURN_IF_ERROR(CheckParameters(parameters, info.model));
  return info;
}

}  // namespace

std::string CheckpointInfoToJson(const CheckpointInfo& info, const ParameterTable& table) {
  nlohmann::json parameters = nlohmann::json::array();
  for (const Parameter& parameter : table.parameters()) parameters.push_back(ToJson(parameter));
  nlohmann::json json{{"model", ModelToJson(info.model)},
                      {"parameters", parameters},
                      {"seed", info.seed},
                      {"step", info.step},
                      {"cursor", info.cursor},
                      {"global_batch_size", info.global_batch_size},
                      {"virtual_shards", info.virtual_shards},
                      {"block_rows", info.block_rows},
                      {"targets", info.targets},
                      {"numerics", info.numerics},
                      {"reduction", info.reduction},
                      {"compression", info.compression},
                      {"accumulate", info.accumulate},
                      {"remainder", info.remainder},
                      {"precision", info.precision},
                      {"gemm_plan", info.gemm_plan},
                      {"libraries", info.libraries},
                      {"world_size", info.world_size},
                      {"score_sum", info.score_sum},
                      {"score_count", info.score_count},
                      {"version", info.version},
                      {"judged_step", info.judged_step}};
  if (info.best.has_value()) json["best"] = BestToJson(*info.best);
  if (!info.class_names.empty()) json["class_names"] = info.class_names;
  if (!info.eval_spec.empty()) json["eval_spec"] = info.eval_spec;
  return json.dump(-1, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::replace);
}

absl::StatusOr<CheckpointInfo> CheckpointInfoFromJson(absl::string_view text) {
  const nlohmann::json json =
      nlohmann::json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    return absl::DataLossError("its JSON is not a checkpoint's: it cannot be parsed");
  }
  absl::StatusOr<CheckpointInfo> info = ReadInfo(json);
  if (!info.ok()) return Annotate(info.status(), "its JSON is not a checkpoint's");
  return info;
}

}  // namespace penstock
