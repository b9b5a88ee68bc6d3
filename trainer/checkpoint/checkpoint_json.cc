#include "trainer/checkpoint/checkpoint_json.h"

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace penstock {

std::string CheckpointInfoToJson(const CheckpointInfo& info, const ParameterTable& table) {
  nlohmann::json parameters = nlohmann::json::array();
  for (const Parameter& parameter : table.parameters()) {
    parameters.push_back({{"name", parameter.name}, {"shape", parameter.shape}});
  }
  return nlohmann::json{{"model",
                         {{"name", info.model.name},
                          {"layers", info.model.layers},
                          {"dim", info.model.dim},
                          {"heads", info.model.heads},
                          {"hidden", info.model.hidden}}},
                        {"parameters", parameters},
                        {"seed", info.seed},
                        {"step", info.step},
                        {"cursor", info.cursor},
                        {"global_batch_size", info.global_batch_size},
                        {"virtual_shards", info.virtual_shards},
                        {"block_rows", info.block_rows},
                        {"numerics", info.numerics},
                        {"score_sum", info.score_sum},
                        {"score_count", info.score_count},
                        {"version", info.version}}
      .dump();
}

absl::StatusOr<CheckpointInfo> CheckpointInfoFromJson(absl::string_view text) {
  try {  // nlohmann's accessors throw on a missing or ill-typed field.
    const nlohmann::json json = nlohmann::json::parse(text.begin(), text.end());
    const nlohmann::json& model = json.at("model");
    CheckpointInfo info;
    info.model = {model.at("name"), model.at("layers"), model.at("dim"), model.at("heads"),
                  model.at("hidden")};
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
    return info;
  } catch (const nlohmann::json::exception& error) {
    return absl::DataLossError(absl::StrCat("its JSON is not a checkpoint's: ", error.what()));
  }
}

}  // namespace penstock
