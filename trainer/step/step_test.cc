#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/step/arena_plan.h"
#include "trainer/step/fuse.h"
#include "trainer/step/gradient_buckets.h"
#include "trainer/step/model_program.h"

namespace penstock {
namespace {

using testing::HasSubstr;

// Whether two operands share an element that one of them writes. Compares element ranges,
// independently of the planner's own rule.
bool Clash(const StepProgram& program, const Operand& a, const Operand& b) {
  const Buffer &x = program.buffers[a.buffer], &y = program.buffers[b.buffer];
  const size_t begin = std::max(x.offset, y.offset);
  const size_t end = std::min(x.offset + x.size, y.offset + y.size);
  const bool writes = a.access != Access::kRead || b.access != Access::kRead;
  return writes && x.arena == y.arena && begin < end;
}

// Returns the first pair of operations that share memory, one of them writing, without an order
// from `after`.
std::optional<std::string> FindUnorderedConflict(const StepProgram& program) {
  std::vector<std::vector<bool>> before(program.ops.size());
  for (size_t i = 0; i < program.ops.size(); ++i) {
    before[i].resize(program.ops.size());
    for (uint32_t j : program.ops[i].after) {
      before[i][j] = true;
      for (size_t k = 0; k < j; ++k) before[i][k] = before[i][k] || before[j][k];
    }
    for (size_t j = 0; j < i; ++j) {
      for (const Operand& a : program.ops[i].operands) {
        for (const Operand& b : program.ops[j].operands) {
          if (!before[i][j] && Clash(program, a, b)) {
            return absl::StrCat("operations ", j, " and ", i, " on ",
                                program.buffers[a.buffer].name, " and ",
                                program.buffers[b.buffer].name);
          }
        }
      }
    }
  }
  return std::nullopt;
}

// Number of operations after the bucket's last one that touch its gradients.
size_t TouchesAfter(const StepProgram& program, const GradientBucket& bucket) {
  size_t touches = 0;
  for (size_t op = bucket.op + 1; op < program.ops.size(); ++op) {
    for (const Operand& operand : program.ops[op].operands) {
      const Buffer& buffer = program.buffers[operand.buffer];
      if (buffer.arena != Arena::kGradients) continue;
      touches +=
          buffer.offset < bucket.first + bucket.count && buffer.offset + buffer.size > bucket.first;
    }
  }
  return touches;
}

// Returns the first two activations that share memory while both are in use.
std::optional<std::string> FindLiveOverlap(const StepProgram& program) {
  auto uses = [&](BufferId buffer) {
    std::vector<size_t> ops;
    for (size_t i = 0; i < program.ops.size(); ++i) {
      for (const Operand& operand : program.ops[i].operands) {
        if (operand.buffer == buffer) ops.push_back(i);
      }
    }
    return ops;
  };
  for (BufferId a = 0; a < program.buffers.size(); ++a) {
    for (BufferId b = 0; b < a; ++b) {
      const Buffer &x = program.buffers[a], &y = program.buffers[b];
      if (x.arena != Arena::kActivations || y.arena != Arena::kActivations) continue;
      if (x.offset >= y.offset + y.size || y.offset >= x.offset + x.size) continue;
      const std::vector<size_t> of_a = uses(a), of_b = uses(b);
      if (of_a.front() <= of_b.back() && of_b.front() <= of_a.back()) return x.name + ", " + y.name;
    }
  }
  return std::nullopt;
}

ModelConfig Model(absl::string_view name, bool attention_bias) {
  ModelConfig config = ModelConfig::Named(name).value();
  config.attention_bias = attention_bias;
  return config;
}

StepProgram Training(const ModelConfig& config, size_t rows) {
  const InputFormat format = config.is_image() ? ImagesOf(config.side) : kPackedBoards;
  return BuildTraining(config, ParameterTable::For(config), format, rows);
}

StepProgram Training(absl::string_view name, size_t rows) {
  return Training(Model(name, false), rows);
}

ptrdiff_t CountOf(const StepProgram& program, OpKind kind) {
  return std::count_if(program.ops.begin(), program.ops.end(),
                       [kind](const Op& op) { return op.kind == kind; });
}

class ModelProgramTest : public testing::TestWithParam<std::tuple<const char*, size_t, bool>> {
 protected:
  ModelConfig model_ = Model(std::get<0>(GetParam()), std::get<2>(GetParam()));
  StepProgram program_ = Training(model_, std::get<1>(GetParam()));
};

TEST_P(ModelProgramTest, OrdersEveryConflictingPair) {
  EXPECT_EQ(FindUnorderedConflict(program_), std::nullopt);
}

TEST_P(ModelProgramTest, LiveActivationsNeverOverlap) {
  EXPECT_EQ(FindLiveOverlap(program_), std::nullopt);
}

TEST_P(ModelProgramTest, ReusesMemory) {
  size_t sum = 0;
  for (const Buffer& buffer : program_.buffers) {
    if (buffer.arena == Arena::kActivations) sum += buffer.size;
  }
  EXPECT_LT(program_.activation_size, sum * 7 / 10);
}

TEST_P(ModelProgramTest, EveryActivationIsWrittenBeforeItIsRead) {
  std::vector<bool> written(program_.buffers.size());
  for (const Op& op : program_.ops) {
    for (const Operand& operand : op.operands) {
      if (program_.buffers[operand.buffer].arena != Arena::kActivations) continue;
      EXPECT_TRUE(operand.access == Access::kWrite || written[operand.buffer])
          << program_.buffers[operand.buffer].name;
    }
    for (const Operand& operand : op.operands) {
      if (operand.access != Access::kRead) written[operand.buffer] = true;
    }
  }
}

TEST_P(ModelProgramTest, FusedGelusLeaveEverythingOrderedAndApart) {
  const size_t ops = program_.ops.size();
  const auto gelus =
      static_cast<size_t>(std::count_if(program_.ops.begin(), program_.ops.end(), [](const Op& op) {
        return (op.kind == OpKind::kGelu || op.kind == OpKind::kGeluBackward) &&
               op.shape.gelu == reference::GeluForm::kTanh;
      }));
  FuseGelu(program_);
  FuseGeluBackward(program_);
  PlaceActivations(program_);
  OrderConflicts(program_);
  EXPECT_EQ(gelus > 0, !model_.is_image());  // The erf form is not fused with products.
  EXPECT_EQ(program_.ops.size(), ops - gelus);
  EXPECT_EQ(FindUnorderedConflict(program_), std::nullopt);
  EXPECT_EQ(FindLiveOverlap(program_), std::nullopt);
}

TEST_P(ModelProgramTest, FusedNormsLeaveEverythingOrderedAndApart) {
  const auto residuals = CountOf(program_, OpKind::kAddResidual);
  EXPECT_EQ(residuals > 0, model_.gelu_twice || model_.dropout > 0);
  FuseResidualNorm(program_);
  PlaceActivations(program_);
  OrderConflicts(program_);
  // The sums of each block are fused with the next norm or the last one.
  EXPECT_EQ(CountOf(program_, OpKind::kAddLayerNorm), residuals);
  EXPECT_EQ(CountOf(program_, OpKind::kAddResidual), 0);
  EXPECT_EQ(FindUnorderedConflict(program_), std::nullopt);
  EXPECT_EQ(FindLiveOverlap(program_), std::nullopt);
}

TEST_P(ModelProgramTest, BucketsOfGradientsAreFinishedWhenTheySay) {
  const size_t size = ParameterTable::For(model_).arena_size();
  for (const size_t floats : {size_t{0}, size_t{1}, size_t{20'000}, size}) {
    const std::vector<GradientBucket> buckets = CutGradients(program_, size, floats);
    std::vector<int> covered(size);
    for (size_t b = 0; b < buckets.size(); ++b) {
      EXPECT_LE(b == 0 ? 0 : buckets[b - 1].op, buckets[b].op);
      EXPECT_GE(b + 1 < buckets.size() ? buckets[b].count : size, floats);
      std::for_each_n(covered.begin() + ptrdiff_t(buckets[b].first), buckets[b].count,
                      [](int& times) { ++times; });
      EXPECT_EQ(TouchesAfter(program_, buckets[b]), 0u) << "bucket " << b << " of " << floats;
    }
    EXPECT_EQ(std::count(covered.begin(), covered.end(), 1), ptrdiff_t(size));
    EXPECT_EQ(buckets.size() == 1, floats == 0 || floats == size) << floats;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ModelProgramTest,
                         testing::Combine(testing::Values("tiny", "default", "large"),
                                          testing::Values(size_t{1}, size_t{4}), testing::Bool()));

INSTANTIATE_TEST_SUITE_P(ImageModels, ModelProgramTest,
                         testing::Combine(testing::Values("vit", "vit-small"),
                                          testing::Values(size_t{1}, size_t{4}),
                                          testing::Values(false)));

// Each place has its own site, which its backward shares.
TEST(DropoutTest, EveryPlaceHasASiteThatItsBackwardShares) {
  const ModelConfig config = Model("vit", false);
  const StepProgram program = Training(config, 1);
  std::map<uint32_t, std::vector<OpKind>> sites;
  for (const Op& op : program.ops) {
    if (op.shape.dropout.active()) sites[op.shape.site].push_back(op.kind);
  }
  EXPECT_EQ(sites.size(), DropoutSites(config));
  EXPECT_EQ(sites.rbegin()->first + 1, DropoutSites(config));
  for (const auto& [site, kinds] : sites) {
    const bool attends = kinds[0] == OpKind::kAttention;
    EXPECT_THAT(kinds, testing::ElementsAre(
                           kinds[0], attends ? OpKind::kAttentionBackward : OpKind::kDropout))
        << site;
  }
}

TEST(DropoutTest, NothingIsLeftOutWhereTheModelSaysSoOrPredicts) {
  auto leaves_out = [](const StepProgram& program) {
    return std::any_of(program.ops.begin(), program.ops.end(),
                       [](const Op& op) { return op.shape.dropout.active(); });
  };
  const ModelConfig config = Model("vit", false);
  const ParameterTable table = ParameterTable::For(config);
  EXPECT_FALSE(leaves_out(BuildInference(config, table, ImagesOf(config.side), 1)));
  EXPECT_FALSE(leaves_out(Training("vit-small", 1)));
  EXPECT_EQ(DropoutSites(Model("vit-small", false)), 0u);
}

TEST(FuseResidualNormTest, BoardsWithDropoutHaveOneBehindEachBlockAndPredictWithNone) {
  ModelConfig config = Model("tiny", false);
  config.dropout = 0.1;
  StepProgram program = Training(config, 1);
  FuseResidualNorm(program);
  PlaceActivations(program);
  OrderConflicts(program);
  EXPECT_EQ(CountOf(program, OpKind::kAddLayerNorm), ptrdiff_t(config.layers));
  EXPECT_EQ(CountOf(program, OpKind::kAddResidual), 0);
  EXPECT_EQ(FindUnorderedConflict(program), std::nullopt);
  EXPECT_EQ(FindLiveOverlap(program), std::nullopt);
  StepProgram inference = BuildInference(config, ParameterTable::For(config), kPackedBoards, 1);
  FuseResidualNorm(inference);
  EXPECT_EQ(CountOf(inference, OpKind::kAddLayerNorm), 0);
}

TEST(FuseResidualNormTest, TakesTheOperandsOfBothAndTheShapeOfTheNorm) {
  const ModelConfig config = Model("vit", false);
  StepProgram program = Training(config, 1);
  FuseResidualNorm(program);
  const Op& last = *std::find_if(program.ops.rbegin(), program.ops.rend(),
                                 [](const Op& op) { return op.kind == OpKind::kAddLayerNorm; });
  std::vector<std::pair<std::string, Access>> operands;
  for (const Operand& operand : last.operands) {
    operands.emplace_back(program.buffers[operand.buffer].name, operand.access);
  }
  const std::string block = absl::StrCat("blocks.", config.layers - 1);
  EXPECT_THAT(operands,
              testing::ElementsAre(testing::Pair(block + ".proj", Access::kRead),
                                   testing::Pair(block + ".fc2 gelu dropout", Access::kReadWrite),
                                   testing::Pair("norm.weight", Access::kRead),
                                   testing::Pair("norm.bias", Access::kRead),
                                   testing::Pair("norm", Access::kWrite),
                                   testing::Pair("norm mean", Access::kWrite),
                                   testing::Pair("norm rstd", Access::kWrite)));
  EXPECT_EQ(last.shape.rows_per_sample, config.tokens());
  EXPECT_EQ(last.shape.in, config.dim);
  EXPECT_EQ(last.shape.epsilon, config.norm_epsilon());
}

// Here the next operation normalises the addend instead.
TEST(FuseResidualNormTest, LeavesNormsOfSomethingElseAlone) {
  StepProgram program = Training("vit", 1);
  for (Op& op : program.ops) {
    if (op.kind == OpKind::kAddResidual) std::swap(op.operands[0], op.operands[1]);
  }
  const size_t ops = program.ops.size();
  FuseResidualNorm(program);
  EXPECT_EQ(program.ops.size(), ops);
}

TEST(AttentionBiasTest, EveryLayersBiasIsReadAndHasItsGradient) {
  const StepProgram program = Training(Model("tiny", true), 1);
  auto touches = [&](const std::string& name, OpKind kind, Access access) {
    return std::count_if(program.ops.begin(), program.ops.end(), [&](const Op& op) {
      return op.kind == kind &&
             std::any_of(op.operands.begin(), op.operands.end(), [&](const Operand& operand) {
               return program.buffers[operand.buffer].name == name && operand.access == access;
             });
    });
  };
  for (int layer = 0; layer < 4; ++layer) {
    const std::string name = absl::StrCat("blocks.", layer, ".attention_bias");
    EXPECT_EQ(touches(name, OpKind::kAttention, Access::kRead), 1) << name;
    EXPECT_EQ(touches(name, OpKind::kAttentionBackward, Access::kRead), 1) << name;
    EXPECT_EQ(touches("d " + name, OpKind::kAttentionBackward, Access::kReadWrite), 1) << name;
  }
}

TEST(StepCheckTest, FindsAMissingDependency) {
  StepProgram program = Training("tiny", 1);
  program.ops[5].after.clear();
  EXPECT_THAT(FindUnorderedConflict(program).value_or(""), HasSubstr("and 5 on"));
}

TEST(StepCheckTest, FindsAnOverlap) {
  StepProgram program = Training("tiny", 1);
  for (Buffer& buffer : program.buffers) {
    if (buffer.arena == Arena::kActivations) buffer.offset = 0;
  }
  EXPECT_NE(FindLiveOverlap(program), std::nullopt);
}

TEST(InferenceProgramTest, NeedsLessMemoryThanTraining) {
  const ModelConfig config = ModelConfig::Named("tiny").value();
  const StepProgram program = BuildInference(config, ParameterTable::For(config), kI8Boards, 4);
  EXPECT_EQ(FindUnorderedConflict(program), std::nullopt);
  EXPECT_EQ(FindLiveOverlap(program), std::nullopt);
  EXPECT_LT(program.activation_size, Training("tiny", 4).activation_size / 4);
}

class UpdateProgramTest : public testing::TestWithParam<size_t> {
 protected:
  StepProgram program_ =
      BuildUpdate(ParameterTable::For(ModelConfig::Named("tiny").value()), GetParam());
};

TEST_P(UpdateProgramTest, OrdersEveryConflictingPair) {
  EXPECT_EQ(FindUnorderedConflict(program_), std::nullopt);
}

TEST_P(UpdateProgramTest, AddsEveryShardOnce) {
  std::vector<int> added(GetParam());
  for (const Op& op : program_.ops) {
    if (op.kind != OpKind::kAddGradients) continue;
    EXPECT_EQ(added[op.operands[0].buffer], 0)
        << "a gradient was written after it was added to another";
    ++added[op.operands[1].buffer];
  }
  EXPECT_EQ(added[0], 0);
  EXPECT_EQ(std::count(added.begin(), added.end(), 1), std::ptrdiff_t(GetParam() - 1));
}

INSTANTIATE_TEST_SUITE_P(Shards, UpdateProgramTest, testing::Values(1, 2, 3, 8, 12));

}  // namespace
}  // namespace penstock
