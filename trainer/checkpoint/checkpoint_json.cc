#include "trainer/checkpoint/checkpoint_json.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"

namespace penstock {
namespace {

// Nothing is said of what is not there: files of models without it stay as they were.
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
                   {"gelu_twice", model.gelu_twice}};
  return json;
}

ModelConfig ModelFromJson(const nlohmann::json& json) {
  ModelConfig model{json.at("name"),  json.at("layers"), json.at("dim"),
                    json.at("heads"), json.at("hidden"), json.value("attention_bias", false)};
  model.dropout = json.value("dropout", 0.0);
  model.head_dropout = json.value("head_dropout", 0.0);
  const auto image = json.find("image");
  if (image == json.end()) return model;
  model.side = image->at("side");
  model.patch = image->at("patch");
  model.classes = image->at("classes");
  model.attention_width = image->at("attention_width");
  model.head = image->at("head").get<std::vector<size_t>>();
  model.flatten = image->at("flatten");
  model.gelu_twice = image->at("gelu_twice");
  return model;
}

nlohmann::json BestToJson(const BestEvaluation& best) {
  return {{"step", best.step}, {"loss", best.loss}, {"evaluations_since", best.evaluations_since}};
}

// Older files have all three in one text: "deterministic of 2 batches a step", "fast bf16".
void ReadReduction(const nlohmann::json& json, CheckpointInfo& info) {
  info.reduction = json.value("reduction", info.reduction);
  const std::vector<std::string> words = absl::StrSplit(info.reduction, ' ');
  info.reduction = words[0];
  if (words.size() == 2 || words.size() == 7) info.compression = words[1];
  if (words.size() >= 6) (void)absl::SimpleAtoi(words[words.size() - 4], &info.accumulate);
  info.compression = json.value("compression", info.compression);
  info.accumulate = json.value("accumulate", info.accumulate);
}

// What older files do not have.
void ReadNewFields(const nlohmann::json& json, CheckpointInfo& info) {
  ReadReduction(json, info);
  info.remainder = json.value("remainder", info.remainder);
  info.targets = json.value("targets", info.targets);
  info.precision = json.value("precision", info.precision);
  info.gemm_plan = json.value("gemm_plan", info.gemm_plan);
  info.libraries = json.value("libraries", info.libraries);
  info.world_size = json.value("world_size", info.world_size);
  if (const auto best = json.find("best"); best != json.end()) {
    info.best = {best->at("step"), best->at("loss"), best->at("evaluations_since")};
    info.judged_step = info.best->step;  // Files that do not tell: no later one is certain.
  }
  info.judged_step = json.value("judged_step", info.judged_step);
}

}  // namespace

std::string CheckpointInfoToJson(const CheckpointInfo& info, const ParameterTable& table) {
  nlohmann::json parameters = nlohmann::json::array();
  for (const Parameter& parameter : table.parameters()) {
    parameters.push_back({{"name", parameter.name}, {"shape", parameter.shape}});
  }
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
  return json.dump();
}

absl::StatusOr<CheckpointInfo> CheckpointInfoFromJson(absl::string_view text) {
  try {  // nlohmann's accessors throw on a missing or ill-typed field.
    const nlohmann::json json = nlohmann::json::parse(text.begin(), text.end());
    CheckpointInfo info;
    info.model = ModelFromJson(json.at("model"));
    info.seed = json.at("seed");
    info.step = json.at("step");
    info.cursor = json.at("cursor");
    info.global_batch_size = json.at("global_batch_size");
    info.virtual_shards = json.at("virtual_shards");
    info.block_rows = json.at("block_rows");
    info.numerics = json.at("numerics");
    info.score_sum = json.at("score_sum");
    info.score_count = json.at("score_count");
    info.version = json.at("version");
    ReadNewFields(json, info);
    return info;
  } catch (const nlohmann::json::exception& error) {
    return absl::DataLossError(absl::StrCat("its JSON is not a checkpoint's: ", error.what()));
  }
}

}  // namespace penstock
