#include "trainer/model/parameter_table.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace penstock {

ModelWidths ModelWidths::Of(const ModelConfig& config, size_t multiple) {
  auto rounded = [multiple](size_t columns) {
    return (columns + multiple - 1) / multiple * multiple;
  };
  return {rounded(config.inputs()), rounded(config.outputs())};
}

ParameterTable ParameterTable::For(const ModelConfig& config, size_t multiple) {
  const ModelWidths widths = ModelWidths::Of(config, multiple);
  ParameterTable table;
  const auto dim = static_cast<uint32_t>(config.dim);
  const auto tokens = static_cast<uint32_t>(config.tokens());
  table.AddLinear("embed", widths.inputs, dim);
  table.Add("position", ParameterKind::kPosition, {tokens, dim});
  for (size_t layer = 0; layer < config.layers; ++layer) {
    const std::string block = absl::StrCat("blocks.", layer);
    table.AddNorm(block + ".norm1", dim);
    table.AddLinear(block + ".qkv", dim, 3 * config.width());
    if (config.attention_bias) {
      table.Add(block + ".attention_bias", ParameterKind::kAttentionBias,
                {static_cast<uint32_t>(config.heads), tokens, tokens});
    }
    table.AddLinear(block + ".proj", config.width(), dim);
    table.AddNorm(block + ".norm2", dim);
    table.AddLinear(block + ".fc1", dim, config.hidden);
    table.AddLinear(block + ".fc2", config.hidden, dim);
  }
  table.AddNorm("norm", dim);
  table.AddHead(config, widths.outputs);
  return table;
}

void ParameterTable::AddHead(const ModelConfig& config, size_t outputs) {
  size_t in = config.flatten ? config.tokens() * config.dim : config.dim;
  size_t layer = 1;
  for (size_t width : config.head_widths()) {
    AddLinear(absl::StrCat("head.fc", layer++), in, width);
    in = width;
  }
  AddLinear(absl::StrCat("head.fc", layer), in, outputs);
}

const Parameter& ParameterTable::at(absl::string_view name) const {
  for (const Parameter& parameter : parameters_) {
    if (parameter.name == name) return parameter;
  }
  std::abort();  // A program that names a missing parameter is our bug.
}

void ParameterTable::Add(std::string name, ParameterKind kind, std::vector<uint32_t> shape,
                         size_t fan_in) {
  size_t count = 1;
  for (uint32_t extent : shape) count *= extent;
  parameters_.push_back({std::move(name), kind, std::move(shape), fan_in, arena_size_, count});
  parameter_count_ += count;
  arena_size_ += (count + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

void ParameterTable::AddLinear(absl::string_view name, size_t in, size_t out) {
  Add(absl::StrCat(name, ".weight"), ParameterKind::kMatrix,
      {static_cast<uint32_t>(out), static_cast<uint32_t>(in)}, in);
  Add(absl::StrCat(name, ".bias"), ParameterKind::kBias, {static_cast<uint32_t>(out)}, in);
}

void ParameterTable::AddNorm(absl::string_view name, size_t dim) {
  Add(absl::StrCat(name, ".weight"), ParameterKind::kGain, {static_cast<uint32_t>(dim)});
  Add(absl::StrCat(name, ".bias"), ParameterKind::kOffset, {static_cast<uint32_t>(dim)});
}

}  // namespace penstock
