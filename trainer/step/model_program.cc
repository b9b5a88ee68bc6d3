#include "trainer/step/model_program.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "trainer/step/arena_plan.h"

namespace penstock {
namespace {

constexpr Access kR = Access::kRead;
constexpr Access kW = Access::kWrite;
constexpr Access kRw = Access::kReadWrite;

// A layer norm's operands, kept for its backward.
struct Norm {
  std::string name;
  BufferId x, y, mean, rstd;
};

struct Block {
  Norm norm1, norm2;
  BufferId qkv, attention, hidden, gelu;
};

class Builder {
 public:
  Builder(const ModelConfig& config, const ParameterTable& table, size_t rows)
      : config_(config), table_(table) {
    program_.rows = rows;
  }

  void Forward(InputFormat format);
  void Backward();

  StepProgram Finish() && {
    PlaceActivations(program_);
    OrderConflicts(program_);
    return std::move(program_);
  }

 private:
  BufferId Add(std::string name, Arena arena, size_t offset, size_t size) {
    program_.buffers.push_back({std::move(name), arena, offset, size});
    return static_cast<BufferId>(program_.buffers.size() - 1);
  }
  BufferId Activation(std::string name, size_t per_sample) {
    return Add(std::move(name), Arena::kActivations, 0, program_.rows * per_sample);
  }
  // The parameter or its gradient; the same buffer whenever it is asked for.
  BufferId Of(Arena arena, const std::string& name) {
    auto [it, is_new] = parameters_.try_emplace({arena, name});
    if (is_new) {
      const Parameter& parameter = table_.at(name);
      it->second = Add(arena == Arena::kGradients ? "d " + name : name, arena, parameter.offset,
                       parameter.count);
    }
    return it->second;
  }
  BufferId Value(const std::string& name) { return Of(Arena::kParameters, name); }
  BufferId Gradient(const std::string& name) { return Of(Arena::kGradients, name); }
  void Emit(OpKind kind, OpShape shape, std::vector<Operand> operands) {
    program_.ops.push_back({kind, shape, std::move(operands), {}});
  }
  // Of the last operation.
  void AddOperand(BufferId buffer, Access access) {
    program_.ops.back().operands.push_back({buffer, access});
  }

  void Expand(InputFormat format);
  BufferId Linear(const std::string& name, BufferId x, size_t tokens);
  BufferId LinearOnto(const std::string& name, BufferId x, BufferId residual);
  Norm LayerNorm(const std::string& name, BufferId x);
  BufferId Gelu(BufferId x, size_t tokens, size_t width);
  BufferId ForwardBlock(size_t layer, BufferId x);

  // The gradient by the input of a linear layer, and those by its weight and bias.
  BufferId LinearBackward(const std::string& name, BufferId x, BufferId dy, size_t tokens);
  void WeightBackward(const std::string& name, BufferId x, BufferId dy, size_t tokens);
  void LayerNormBackward(const Norm& norm, BufferId dy, BufferId dx, Access access);
  void GeluBackward(BufferId x, BufferId dy, size_t tokens, size_t width);
  void BackwardBlock(size_t layer, BufferId dx);

  size_t InOf(const std::string& name) { return table_.at(name + ".weight").shape[1]; }
  size_t OutOf(const std::string& name) { return table_.at(name + ".weight").shape[0]; }

  const ModelConfig& config_;
  const ParameterTable& table_;
  StepProgram program_;
  std::map<std::pair<Arena, std::string>, BufferId> parameters_;
  std::vector<Block> blocks_;
  Norm norm_;
  BufferId features_, pooled_, head_hidden_, head_gelu_, predictions_;
};

void Builder::Expand(InputFormat format) {
  features_ = Activation("features", kBoardTokens * InOf("embed"));
  if (format == kPackedBoards) {
    const BufferId packed = Add("packed", Arena::kInput, 0, program_.rows * 194);
    return Emit(OpKind::kExpandPacked, {}, {{packed, kR}, {features_, kW}});
  }
  const BufferId planes = Add("planes", Arena::kInput, 0, program_.rows * kBoardTokens * 24);
  const BufferId flags = Add("flags", Arena::kFlags, 0, program_.rows * 10);
  Emit(format == kI8Boards ? OpKind::kJoinI8 : OpKind::kJoinF32, {},
       {{planes, kR}, {flags, kR}, {features_, kW}});
}

BufferId Builder::Linear(const std::string& name, BufferId x, size_t tokens) {
  const BufferId y = Activation(name, tokens * OutOf(name));
  Emit(OpKind::kLinear, {.rows_per_sample = tokens, .in = InOf(name), .out = OutOf(name)},
       {{x, kR}, {Value(name + ".weight"), kR}, {Value(name + ".bias"), kR}, {y, kW}});
  return y;
}

BufferId Builder::LinearOnto(const std::string& name, BufferId x, BufferId residual) {
  const BufferId y = Linear(name, x, kBoardTokens);
  AddOperand(residual, kR);
  return y;
}

Norm Builder::LayerNorm(const std::string& name, BufferId x) {
  Norm norm{name, x, Activation(name, kBoardTokens * config_.dim),
            Activation(name + " mean", kBoardTokens), Activation(name + " rstd", kBoardTokens)};
  Emit(OpKind::kLayerNorm, {.rows_per_sample = kBoardTokens, .in = config_.dim},
       {{x, kR},
        {Value(name + ".weight"), kR},
        {Value(name + ".bias"), kR},
        {norm.y, kW},
        {norm.mean, kW},
        {norm.rstd, kW}});
  return norm;
}

BufferId Builder::Gelu(BufferId x, size_t tokens, size_t width) {
  const BufferId y = Activation(program_.buffers[x].name + " gelu", tokens * width);
  Emit(OpKind::kGelu, {.rows_per_sample = tokens, .in = width}, {{x, kR}, {y, kW}});
  return y;
}

BufferId Builder::ForwardBlock(size_t layer, BufferId x) {
  const std::string name = absl::StrCat("blocks.", layer);
  Block block;
  block.norm1 = LayerNorm(name + ".norm1", x);
  block.qkv = Linear(name + ".qkv", block.norm1.y, kBoardTokens);
  block.attention = Activation(name + ".attention", kBoardTokens * config_.dim);
  Emit(OpKind::kAttention,
       {.rows_per_sample = kBoardTokens, .in = config_.dim, .heads = config_.heads},
       {{block.qkv, kR}, {block.attention, kW}});
  if (config_.attention_bias) AddOperand(Value(name + ".attention_bias"), kR);
  x = LinearOnto(name + ".proj", block.attention, x);
  block.norm2 = LayerNorm(name + ".norm2", x);
  block.hidden = Linear(name + ".fc1", block.norm2.y, kBoardTokens);
  block.gelu = Gelu(block.hidden, kBoardTokens, config_.hidden);
  x = LinearOnto(name + ".fc2", block.gelu, x);
  blocks_.push_back(std::move(block));
  return x;
}

void Builder::Forward(InputFormat format) {
  Expand(format);
  BufferId x = Linear("embed", features_, kBoardTokens);
  Emit(OpKind::kAddPosition, {.rows_per_sample = kBoardTokens, .in = config_.dim},
       {{Value("position"), kR}, {x, kRw}});
  for (size_t layer = 0; layer < config_.layers; ++layer) x = ForwardBlock(layer, x);
  norm_ = LayerNorm("norm", x);
  pooled_ = Activation("pooled", config_.dim);
  Emit(OpKind::kMeanPool, {.rows_per_sample = kBoardTokens, .in = config_.dim},
       {{norm_.y, kR}, {pooled_, kW}});
  head_hidden_ = Linear("head.fc1", pooled_, 1);
  head_gelu_ = Gelu(head_hidden_, 1, config_.dim);
  const BufferId score = Linear("head.fc2", head_gelu_, 1);
  predictions_ = Add("predictions", Arena::kPredictions, 0, program_.rows);
  Emit(OpKind::kTanh, {.rows_per_sample = 1, .in = 1, .out = OutOf("head.fc2")},
       {{score, kR}, {predictions_, kW}});
}

void Builder::WeightBackward(const std::string& name, BufferId x, BufferId dy, size_t tokens) {
  Emit(OpKind::kLinearBackwardWeight,
       {.rows_per_sample = tokens, .in = InOf(name), .out = OutOf(name)},
       {{dy, kR}, {x, kR}, {Gradient(name + ".weight"), kRw}, {Gradient(name + ".bias"), kRw}});
}

BufferId Builder::LinearBackward(const std::string& name, BufferId x, BufferId dy, size_t tokens) {
  WeightBackward(name, x, dy, tokens);
  const BufferId dx = Activation(absl::StrCat("d input of ", name), tokens * InOf(name));
  Emit(OpKind::kLinearBackwardInput,
       {.rows_per_sample = tokens, .in = InOf(name), .out = OutOf(name)},
       {{dy, kR}, {Value(name + ".weight"), kR}, {dx, kW}});
  return dx;
}

void Builder::LayerNormBackward(const Norm& norm, BufferId dy, BufferId dx, Access access) {
  Emit(OpKind::kLayerNormBackward, {.rows_per_sample = kBoardTokens, .in = config_.dim},
       {{dy, kR},
        {norm.x, kR},
        {Value(norm.name + ".weight"), kR},
        {norm.mean, kR},
        {norm.rstd, kR},
        {dx, access},
        {Gradient(norm.name + ".weight"), kRw},
        {Gradient(norm.name + ".bias"), kRw}});
}

void Builder::GeluBackward(BufferId x, BufferId dy, size_t tokens, size_t width) {
  Emit(OpKind::kGeluBackward, {.rows_per_sample = tokens, .in = width}, {{x, kR}, {dy, kRw}});
}

// `dx` is the gradient by the residual stream: by the block's output before, by its input after.
void Builder::BackwardBlock(size_t layer, BufferId dx) {
  const std::string name = absl::StrCat("blocks.", layer);
  const Block& block = blocks_[layer];
  const BufferId dgelu = LinearBackward(name + ".fc2", block.gelu, dx, kBoardTokens);
  GeluBackward(block.hidden, dgelu, kBoardTokens, config_.hidden);
  const BufferId dnorm2 = LinearBackward(name + ".fc1", block.norm2.y, dgelu, kBoardTokens);
  LayerNormBackward(block.norm2, dnorm2, dx, kRw);

  const BufferId dattention = LinearBackward(name + ".proj", block.attention, dx, kBoardTokens);
  const BufferId dqkv = Activation("d " + name + ".qkv", kBoardTokens * 3 * config_.dim);
  Emit(OpKind::kAttentionBackward,
       {.rows_per_sample = kBoardTokens, .in = config_.dim, .heads = config_.heads},
       {{block.qkv, kR}, {dattention, kR}, {dqkv, kW}});
  if (config_.attention_bias) {
    AddOperand(Value(name + ".attention_bias"), kR);
    AddOperand(Gradient(name + ".attention_bias"), kRw);
  }
  const BufferId dnorm1 = LinearBackward(name + ".qkv", block.norm1.y, dqkv, kBoardTokens);
  LayerNormBackward(block.norm1, dnorm1, dx, kRw);
}

void Builder::Backward() {
  const BufferId targets = Add("targets", Arena::kTargets, 0, program_.rows);
  const size_t scores = OutOf("head.fc2");
  const BufferId dscore = Activation("d score", scores);
  Emit(OpKind::kSquaredErrorBackward, {.rows_per_sample = 1, .in = 1, .out = scores},
       {{predictions_, kR}, {targets, kR}, {dscore, kW}});
  Emit(OpKind::kTanhBackward, {.rows_per_sample = 1, .in = 1, .out = scores},
       {{predictions_, kR}, {dscore, kRw}});
  const BufferId dgelu = LinearBackward("head.fc2", head_gelu_, dscore, 1);
  GeluBackward(head_hidden_, dgelu, 1, config_.dim);
  const BufferId dpooled = LinearBackward("head.fc1", pooled_, dgelu, 1);
  const BufferId dnorm = Activation("d norm", kBoardTokens * config_.dim);
  Emit(OpKind::kMeanPoolBackward, {.rows_per_sample = kBoardTokens, .in = config_.dim},
       {{dpooled, kR}, {dnorm, kW}});
  const BufferId dx = Activation("d residual stream", kBoardTokens * config_.dim);
  LayerNormBackward(norm_, dnorm, dx, kW);
  for (size_t layer = config_.layers; layer-- > 0;) BackwardBlock(layer, dx);
  Emit(OpKind::kAddPositionBackward, {.rows_per_sample = kBoardTokens, .in = config_.dim},
       {{dx, kR}, {Gradient("position"), kRw}});
  WeightBackward("embed", features_, dx, kBoardTokens);
}

}  // namespace

StepProgram BuildInference(const ModelConfig& config, const ParameterTable& table,
                           InputFormat format, size_t rows) {
  Builder builder(config, table, rows);
  builder.Forward(format);
  return std::move(builder).Finish();
}

StepProgram BuildTraining(const ModelConfig& config, const ParameterTable& table,
                          InputFormat format, size_t rows) {
  Builder builder(config, table, rows);
  builder.Forward(format);
  builder.Backward();
  return std::move(builder).Finish();
}

StepProgram BuildUpdate(const ParameterTable& table, size_t shards) {
  StepProgram program;
  const size_t size = table.arena_size();
  for (size_t v = 0; v < shards; ++v) {
    program.buffers.push_back(
        {absl::StrCat("gradients of shard ", v), Arena::kGradients, v * size, size});
  }
  for (size_t distance = 1; distance < shards; distance *= 2) {
    for (size_t v = 0; v + distance < shards; v += 2 * distance) {
      program.ops.push_back(
          {OpKind::kAddGradients,
           {},
           {{static_cast<BufferId>(v), kRw}, {static_cast<BufferId>(v + distance), kR}},
           {}});
    }
  }
  const auto norm = static_cast<BufferId>(shards);
  program.buffers.push_back({"gradient norm", Arena::kScalars, 0, 1});
  program.buffers.push_back({"parameters", Arena::kParameters, 0, size});
  program.buffers.push_back({"m", Arena::kMoments, 0, size});
  program.buffers.push_back({"v", Arena::kMoments, size, size});
  program.ops.push_back({OpKind::kGradientNorm, {}, {{0, kR}, {norm, kW}}, {}});
  program.ops.push_back({OpKind::kAdamw,
                         {},
                         {{0, kR}, {norm, kR}, {norm + 1, kRw}, {norm + 2, kRw}, {norm + 3, kRw}},
                         {}});
  OrderConflicts(program);
  return program;
}

}  // namespace penstock
