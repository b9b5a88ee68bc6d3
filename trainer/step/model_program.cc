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

// Operands of a layer norm, kept for its backward.
struct Norm {
  std::string name;
  BufferId x, y, mean, rstd;
};

struct Block {
  Norm norm1, norm2;
  BufferId qkv, attention;
  BufferId hidden, mid;  // Inputs of the MLP's GELU and of its second layer.
  BufferId second;       // Input of a second GELU.
};

// A layer of the head: its input, and its output, which goes into a GELU.
struct HeadLayer {
  std::string name;
  BufferId x, y;
};

// Dropout sites of a block.
constexpr uint32_t kAttentionSite = 0, kFirstSite = 1, kSecondSite = 2, kSitesOfBlock = 3;

// Size of a sample's matrix.
struct Extent {
  size_t rows, columns;
  size_t size() const { return rows * columns; }
};

class Builder {
 public:
  Builder(const ModelConfig& config, const ParameterTable& table, size_t rows, bool trains)
      : config_(config), table_(table), trains_(trains) {
    program_.rows = rows;
  }

  void Forward(InputFormat format);
  void ForwardLogits(InputFormat format);
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
  // Returns the buffer of a parameter or its gradient; the same one on every call.
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
  // Adds an operand to the last operation.
  void AddOperand(BufferId buffer, Access access) {
    program_.ops.back().operands.push_back({buffer, access});
  }

  void Expand(InputFormat format);
  BufferId Linear(const std::string& name, BufferId x, size_t tokens);
  BufferId LinearOnto(const std::string& name, BufferId x, BufferId residual);
  Norm LayerNorm(const std::string& name, BufferId x);
  BufferId Gelu(BufferId x, Extent extent);
  // Returns x itself if the rate is zero.
  BufferId Drop(BufferId x, Extent extent, double rate, uint32_t site);
  BufferId DropOrCopy(BufferId x, Extent extent, double rate, uint32_t site);
  void Attend(const std::string& name, Block& block, uint32_t site);
  BufferId ForwardBlock(size_t layer, BufferId x);
  BufferId ForwardMlp(size_t layer, Block& block, BufferId residual);
  void ForwardHead();
  void ForwardTrunk(InputFormat format);

  // Computes the gradients of a linear layer's weight and bias, and returns the gradient of its
  // input.
  BufferId LinearBackward(const std::string& name, BufferId x, BufferId dy, size_t tokens);
  void WeightBackward(const std::string& name, BufferId x, BufferId dy, size_t tokens);
  void LayerNormBackward(const Norm& norm, BufferId dy, BufferId dx, Access access);
  void GeluBackward(BufferId x, BufferId dy, Extent extent);
  void AttendBackward(const std::string& name, const Block& block, BufferId dy, BufferId dqkv,
                      uint32_t site);
  void BackwardBlock(size_t layer, BufferId dx);
  BufferId BackwardMlp(size_t layer, const Block& block, BufferId dx);
  BufferId LossBackward();
  BufferId BackwardHead();

  size_t InOf(const std::string& name) { return table_.at(name + ".weight").shape[1]; }
  size_t OutOf(const std::string& name) { return table_.at(name + ".weight").shape[0]; }
  Extent Tokens(size_t columns) const { return {config_.tokens(), columns}; }
  OpShape ShapeOf(Extent extent) const {
    return {.rows_per_sample = extent.rows, .in = extent.columns};
  }
  OpShape GeluShape(Extent extent) const {
    OpShape shape = ShapeOf(extent);
    shape.gelu = config_.gelu();
    return shape;
  }
  OpShape NormShape() const {
    OpShape shape = ShapeOf(Tokens(config_.dim));
    shape.epsilon = config_.norm_epsilon();
    return shape;
  }
  OpShape AttentionShape(uint32_t site) const {
    OpShape shape = ShapeOf(Tokens(config_.width()));
    shape.heads = config_.heads;
    shape.dropout = DropoutOf(config_.dropout);
    shape.site = site;
    return shape;
  }
  OpShape LogitShape(size_t columns) const {
    return {.rows_per_sample = 1, .in = columns, .classes = config_.classes};
  }
  OpShape ScoreShape(size_t columns) const {
    return {.rows_per_sample = 1, .in = 1, .out = columns};
  }
  Dropout DropoutOf(double rate) const { return trains_ ? Dropout::OfRate(rate) : Dropout{}; }
  uint32_t SiteOf(size_t layer, uint32_t of_block) const {
    return static_cast<uint32_t>(layer) * kSitesOfBlock + of_block;
  }
  uint32_t HeadSite(size_t layer) const {
    return static_cast<uint32_t>(config_.layers * kSitesOfBlock + layer);
  }
  // Whether an operation comes between the MLP and the sum with its input.
  bool MlpEndsApart() const { return config_.gelu_twice || DropoutOf(config_.dropout).active(); }

  const ModelConfig& config_;
  const ParameterTable& table_;
  const bool trains_;
  StepProgram program_;
  std::map<std::pair<Arena, std::string>, BufferId> parameters_;
  std::vector<Block> blocks_;
  std::vector<HeadLayer> head_;
  Norm norm_;
  BufferId features_, predictions_, targets_;
};

void Builder::Expand(InputFormat format) {
  features_ = Activation("features", config_.tokens() * InOf("embed"));
  const BufferId input = Add("input", Arena::kInput, 0, program_.rows * format.input_bytes);
  OpShape shape = ShapeOf(Tokens(InOf("embed")));
  shape.patch = config_.patch;
  shape.pixels = config_.pixels.scale();
  switch (format.kind) {
    case InputKind::kPackedBoard:
      return Emit(OpKind::kExpandPacked, shape, {{input, kR}, {features_, kW}});
    case InputKind::kImage:
      return Emit(OpKind::kPatchImages, shape, {{input, kR}, {features_, kW}});
    case InputKind::kI8Board:
    case InputKind::kF32Board:
      break;
  }
  const BufferId flags = Add("flags", Arena::kFlags, 0, program_.rows * format.flags_bytes);
  Emit(format.kind == InputKind::kI8Board ? OpKind::kJoinI8 : OpKind::kJoinF32, shape,
       {{input, kR}, {flags, kR}, {features_, kW}});
}

BufferId Builder::Linear(const std::string& name, BufferId x, size_t tokens) {
  const BufferId y = Activation(name, tokens * OutOf(name));
  Emit(OpKind::kLinear, {.rows_per_sample = tokens, .in = InOf(name), .out = OutOf(name)},
       {{x, kR}, {Value(name + ".weight"), kR}, {Value(name + ".bias"), kR}, {y, kW}});
  return y;
}

BufferId Builder::LinearOnto(const std::string& name, BufferId x, BufferId residual) {
  const BufferId y = Linear(name, x, config_.tokens());
  AddOperand(residual, kR);
  return y;
}

Norm Builder::LayerNorm(const std::string& name, BufferId x) {
  const size_t tokens = config_.tokens();
  Norm norm{name, x, Activation(name, tokens * config_.dim), Activation(name + " mean", tokens),
            Activation(name + " rstd", tokens)};
  Emit(OpKind::kLayerNorm, NormShape(),
       {{x, kR},
        {Value(name + ".weight"), kR},
        {Value(name + ".bias"), kR},
        {norm.y, kW},
        {norm.mean, kW},
        {norm.rstd, kW}});
  return norm;
}

BufferId Builder::Gelu(BufferId x, Extent extent) {
  const BufferId y = Activation(program_.buffers[x].name + " gelu", extent.size());
  Emit(OpKind::kGelu, GeluShape(extent), {{x, kR}, {y, kW}});
  return y;
}

BufferId Builder::Drop(BufferId x, Extent extent, double rate, uint32_t site) {
  return DropoutOf(rate).active() ? DropOrCopy(x, extent, rate, site) : x;
}

BufferId Builder::DropOrCopy(BufferId x, Extent extent, double rate, uint32_t site) {
  OpShape shape = ShapeOf(extent);
  shape.dropout = DropoutOf(rate);
  shape.site = site;
  const BufferId y = Activation(program_.buffers[x].name + " dropout", extent.size());
  Emit(OpKind::kDropout, shape, {{x, kR}, {y, kW}});
  return y;
}

void Builder::Attend(const std::string& name, Block& block, uint32_t site) {
  block.attention = Activation(name + ".attention", config_.tokens() * config_.width());
  Emit(OpKind::kAttention, AttentionShape(site), {{block.qkv, kR}, {block.attention, kW}});
  if (config_.attention_bias) AddOperand(Value(name + ".attention_bias"), kR);
}

BufferId Builder::ForwardMlp(size_t layer, Block& block, BufferId residual) {
  const std::string name = absl::StrCat("blocks.", layer);
  const Extent hidden = Tokens(config_.hidden), dim = Tokens(config_.dim);
  block.hidden = Linear(name + ".fc1", block.norm2.y, hidden.rows);
  block.mid = Drop(Gelu(block.hidden, hidden), hidden, config_.dropout, SiteOf(layer, kFirstSite));
  if (!MlpEndsApart()) return LinearOnto(name + ".fc2", block.mid, residual);
  block.second = Linear(name + ".fc2", block.mid, dim.rows);
  BufferId y = config_.gelu_twice ? Gelu(block.second, dim) : block.second;
  y = Drop(y, dim, config_.dropout, SiteOf(layer, kSecondSite));
  Emit(OpKind::kAddResidual, ShapeOf(dim), {{residual, kR}, {y, kRw}});
  return y;
}

BufferId Builder::ForwardBlock(size_t layer, BufferId x) {
  const std::string name = absl::StrCat("blocks.", layer);
  Block block;
  block.norm1 = LayerNorm(name + ".norm1", x);
  block.qkv = Linear(name + ".qkv", block.norm1.y, config_.tokens());
  Attend(name, block, SiteOf(layer, kAttentionSite));
  x = LinearOnto(name + ".proj", block.attention, x);
  block.norm2 = LayerNorm(name + ".norm2", x);
  x = ForwardMlp(layer, block, x);
  blocks_.push_back(std::move(block));
  return x;
}

void Builder::ForwardHead() {
  BufferId x = norm_.y;
  if (!config_.flatten) {
    x = Activation("pooled", config_.dim);
    Emit(OpKind::kMeanPool, ShapeOf(Tokens(config_.dim)), {{norm_.y, kR}, {x, kW}});
  }
  const size_t hidden_layers = config_.head_widths().size();
  for (size_t layer = 0; layer <= hidden_layers; ++layer) {
    const std::string name = absl::StrCat("head.fc", layer + 1);
    x = Drop(x, {1, InOf(name)}, config_.head_dropout, HeadSite(layer));
    const BufferId y = Linear(name, x, 1);
    head_.push_back({name, x, y});
    if (layer < hidden_layers) x = Gelu(y, {1, OutOf(name)});
  }
}

// The forward pass up to the last layer's output.
void Builder::ForwardTrunk(InputFormat format) {
  Expand(format);
  BufferId x = Linear("embed", features_, config_.tokens());
  Emit(OpKind::kAddPosition, ShapeOf(Tokens(config_.dim)), {{Value("position"), kR}, {x, kRw}});
  for (size_t layer = 0; layer < config_.layers; ++layer) x = ForwardBlock(layer, x);
  norm_ = LayerNorm("norm", x);
  ForwardHead();
}

void Builder::ForwardLogits(InputFormat format) {
  ForwardTrunk(format);
  const size_t columns = OutOf(head_.back().name);
  predictions_ = Add("logits", Arena::kPredictions, 0, program_.rows * columns);
  Emit(OpKind::kDropout, ShapeOf({1, columns}), {{head_.back().y, kR}, {predictions_, kW}});
}

void Builder::Forward(InputFormat format) {
  ForwardTrunk(format);
  const HeadLayer& last = head_.back();
  predictions_ = Add("predictions", Arena::kPredictions, 0, program_.rows * config_.results());
  const size_t columns = OutOf(last.name);
  if (trains_ || config_.is_image()) {
    targets_ = Add("targets", Arena::kTargets, 0, program_.rows);
  }
  if (config_.is_image()) {
    return Emit(OpKind::kClassify, LogitShape(columns),
                {{last.y, kR}, {targets_, kR}, {predictions_, kW}});
  }
  Emit(OpKind::kTanh, ScoreShape(columns), {{last.y, kR}, {predictions_, kW}});
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
  Emit(OpKind::kLayerNormBackward, NormShape(),
       {{dy, kR},
        {norm.x, kR},
        {Value(norm.name + ".weight"), kR},
        {norm.mean, kR},
        {norm.rstd, kR},
        {dx, access},
        {Gradient(norm.name + ".weight"), kRw},
        {Gradient(norm.name + ".bias"), kRw}});
}

void Builder::GeluBackward(BufferId x, BufferId dy, Extent extent) {
  Emit(OpKind::kGeluBackward, GeluShape(extent), {{x, kR}, {dy, kRw}});
}

void Builder::AttendBackward(const std::string& name, const Block& block, BufferId dy,
                             BufferId dqkv, uint32_t site) {
  Emit(OpKind::kAttentionBackward, AttentionShape(site), {{block.qkv, kR}, {dy, kR}, {dqkv, kW}});
  if (!config_.attention_bias) return;
  AddOperand(Value(name + ".attention_bias"), kR);
  AddOperand(Gradient(name + ".attention_bias"), kRw);
}

// Returns the gradient of the MLP's input.
BufferId Builder::BackwardMlp(size_t layer, const Block& block, BufferId dx) {
  const std::string name = absl::StrCat("blocks.", layer);
  const Extent hidden = Tokens(config_.hidden), dim = Tokens(config_.dim);
  BufferId dy = dx;
  if (MlpEndsApart()) dy = DropOrCopy(dx, dim, config_.dropout, SiteOf(layer, kSecondSite));
  if (config_.gelu_twice) GeluBackward(block.second, dy, dim);
  BufferId dmid = LinearBackward(name + ".fc2", block.mid, dy, dim.rows);
  dmid = Drop(dmid, hidden, config_.dropout, SiteOf(layer, kFirstSite));
  GeluBackward(block.hidden, dmid, hidden);
  return LinearBackward(name + ".fc1", block.norm2.y, dmid, hidden.rows);
}

// `dx` is the gradient of the residual stream. On entry it is that of the block's output; on return
// it is that of the block's input.
void Builder::BackwardBlock(size_t layer, BufferId dx) {
  const std::string name = absl::StrCat("blocks.", layer);
  const Block& block = blocks_[layer];
  const size_t tokens = config_.tokens();
  LayerNormBackward(block.norm2, BackwardMlp(layer, block, dx), dx, kRw);

  const BufferId dattention = LinearBackward(name + ".proj", block.attention, dx, tokens);
  const BufferId dqkv = Activation("d " + name + ".qkv", tokens * 3 * config_.width());
  AttendBackward(name, block, dattention, dqkv, SiteOf(layer, kAttentionSite));
  const BufferId dnorm1 = LinearBackward(name + ".qkv", block.norm1.y, dqkv, tokens);
  LayerNormBackward(block.norm1, dnorm1, dx, kRw);
}

// Returns the gradient of the output of the head's last layer.
BufferId Builder::LossBackward() {
  const BufferId y = head_.back().y;
  const size_t columns = OutOf(head_.back().name);
  if (config_.is_image()) {
    const BufferId dlogits = Activation("d logits", columns);
    Emit(OpKind::kCrossEntropyBackward, LogitShape(columns),
         {{y, kR}, {targets_, kR}, {dlogits, kW}});
    return dlogits;
  }
  const BufferId dscore = Activation("d score", columns);
  const OpShape shape = ScoreShape(columns);
  Emit(OpKind::kSquaredErrorBackward, shape, {{predictions_, kR}, {targets_, kR}, {dscore, kW}});
  Emit(OpKind::kTanhBackward, shape, {{predictions_, kR}, {dscore, kRw}});
  return dscore;
}

// Returns the gradient of the last norm's output.
BufferId Builder::BackwardHead() {
  BufferId dy = LossBackward();
  for (size_t layer = head_.size(); layer-- > 0;) {
    const HeadLayer& head = head_[layer];
    const Extent in{1, InOf(head.name)};
    dy = LinearBackward(head.name, head.x, dy, 1);
    dy = Drop(dy, in, config_.head_dropout, HeadSite(layer));
    if (layer > 0) GeluBackward(head_[layer - 1].y, dy, in);
  }
  if (config_.flatten) return dy;
  const BufferId dnorm = Activation("d norm", config_.tokens() * config_.dim);
  Emit(OpKind::kMeanPoolBackward, ShapeOf(Tokens(config_.dim)), {{dy, kR}, {dnorm, kW}});
  return dnorm;
}

void Builder::Backward() {
  const BufferId dnorm = BackwardHead();
  const BufferId dx = Activation("d residual stream", config_.tokens() * config_.dim);
  LayerNormBackward(norm_, dnorm, dx, kW);
  for (size_t layer = config_.layers; layer-- > 0;) BackwardBlock(layer, dx);
  Emit(OpKind::kAddPositionBackward, ShapeOf(Tokens(config_.dim)),
       {{dx, kR}, {Gradient("position"), kRw}});
  WeightBackward("embed", features_, dx, config_.tokens());
}

}  // namespace

size_t DropoutSites(const ModelConfig& config) {
  if (config.dropout == 0 && config.head_dropout == 0) return 0;
  return config.layers * kSitesOfBlock + config.head_widths().size() + 1;
}

StepProgram BuildInference(const ModelConfig& config, const ParameterTable& table,
                           InputFormat format, size_t rows) {
  Builder builder(config, table, rows, /*trains=*/false);
  builder.Forward(format);
  return std::move(builder).Finish();
}

StepProgram BuildLogits(const ModelConfig& config, const ParameterTable& table, InputFormat format,
                        size_t rows) {
  Builder builder(config, table, rows, /*trains=*/false);
  builder.ForwardLogits(format);
  return std::move(builder).Finish();
}

StepProgram BuildTraining(const ModelConfig& config, const ParameterTable& table,
                          InputFormat format, size_t rows) {
  Builder builder(config, table, rows, /*trains=*/true);
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
