#include <cmath>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/model/initialize.h"
#include "trainer/model/model_config.h"
#include "trainer/model/parameter_table.h"

namespace penstock {
namespace {

ParameterTable TableOf(absl::string_view name, bool attention_bias = false) {
  ModelConfig config = ModelConfig::Named(name).value();
  config.attention_bias = attention_bias;
  return ParameterTable::For(config);
}

std::vector<float> Initialized(const ParameterTable& table, uint64_t seed) {
  std::vector<float> arena(table.arena_size(), -1.0f);
  InitializeParameters(table, seed, arena);
  return arena;
}

TEST(BoardModelTest, CountsParametersAsDesigned) {
  EXPECT_EQ(TableOf("tiny").parameter_count(), 144577u);
  EXPECT_EQ(TableOf("default").parameter_count(), 4308737u);
  EXPECT_EQ(TableOf("large").parameter_count(), 38143489u);
}

TEST(BoardModelTest, ABiasOfAttentionIsANumberForEachLayerHeadAndPairOfSquares) {
  EXPECT_EQ(TableOf("tiny", true).parameter_count(), 144577u + 4 * 4 * 64 * 64);
  EXPECT_EQ(TableOf("default", true).parameter_count(), 4308737u + 8 * 8 * 64 * 64);
  EXPECT_EQ(TableOf("large", true).parameter_count(), 38143489u + 12 * 16 * 64 * 64);
  EXPECT_THAT(TableOf("tiny", true).at("blocks.3.attention_bias").shape,
              testing::ElementsAre(4, 64, 64));
}

// The expected counts are that of the Keras example, and the 22,050,664 of ViT-S/16 without its
// class token and that token's position.
TEST(ImageModelTest, CountsParametersAsDesigned) {
  EXPECT_EQ(TableOf("vit").parameter_count(), 21759012u);
  EXPECT_EQ(TableOf("vit-small").parameter_count(), 22050664u - 2 * 384);
  EXPECT_EQ(TableOf("vit-tiny").parameter_count(), 152202u);
}

TEST(ImageModelTest, RefusesWhatCannotBe) {
  const ModelConfig vit = ModelConfig::Named("vit").value();
  auto refuses = [](const ModelConfig& config, const char* what) {
    EXPECT_THAT(config.Validate(),
                StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr(what)));
  };
  ModelConfig config = vit;
  config.patch = 7;
  refuses(config, "patches of 7");
  config.patch = 4;  // That makes 324 tokens.
  refuses(config, "at most 256 patches");
  config.side = config.patch = size_t{1} << 20;
  refuses(config, "images of 1048576 pixels");
  config = vit;
  config.classes = 1;
  refuses(config, "1 classes");
  config = vit;
  config.dropout = 1;
  refuses(config, "a dropout of 1");
  config = vit;
  config.attention_bias = true;
  refuses(config, "--attention-bias is for board models");
  config = vit;
  config.attention_width = 250;
  refuses(config, "attention width 250");
}

TEST(ImageModelTest, DropoutChangesNoParameter) {
  const ModelConfig vit = ModelConfig::Named("vit").value();
  ModelConfig other = vit;
  other.dropout = 0;
  EXPECT_TRUE(vit.SameParameters(other));
  other.classes = 10;
  EXPECT_FALSE(vit.SameParameters(other));
}

TEST(ModelConfigTest, EveryNameIsOfAModelThatIsPossible) {
  for (const std::string& name : ModelConfig::Names()) {
    ASSERT_OK_AND_ASSIGN(const ModelConfig model, ModelConfig::Named(name));
    EXPECT_EQ(model.name, name);
    EXPECT_OK(model.Validate());
  }
}

TEST(BoardModelTest, UnknownNameListsTheKnownOnes) {
  EXPECT_THAT(ModelConfig::Named("huge"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::AllOf(testing::HasSubstr("huge"), testing::HasSubstr("default"))));
}

TEST(BoardModelTest, RefusesHeadsThatDoNotDivideDim) {
  EXPECT_THAT((ModelConfig{"odd", 1, 10, 3, 8}).Validate(),
              StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr("dim 10, 3 heads")));
}

TEST(ParameterTableTest, ParametersNeverOverlap) {
  size_t end = 0;
  const ParameterTable table = TableOf("tiny");
  for (const Parameter& parameter : table.parameters()) {
    EXPECT_GE(parameter.offset, end) << parameter.name;
    EXPECT_EQ(parameter.offset % kArenaAlignment, 0u);
    end = parameter.offset + parameter.count;
  }
  EXPECT_LE(end, table.arena_size());
}

TEST(ParameterTableTest, OnlyMatricesDecay) {
  const ParameterTable table = TableOf("tiny");
  EXPECT_TRUE(table.at("blocks.3.fc2.weight").decays());
  EXPECT_FALSE(table.at("blocks.3.fc2.bias").decays());
  EXPECT_FALSE(table.at("position").decays());
  EXPECT_FALSE(table.at("norm.weight").decays());
  EXPECT_FALSE(TableOf("tiny", true).at("blocks.3.attention_bias").decays());
}

TEST(InitializeTest, SameSeedSameBits) {
  const ParameterTable table = TableOf("tiny");
  EXPECT_EQ(Initialized(table, 7), Initialized(table, 7));
  EXPECT_NE(Initialized(table, 7), Initialized(table, 8));
}

// Computed in Python from the definition: parameter n has the numbers of key n of the seed. Equal
// numbers for several parameters would still train, only worse.
TEST(InitializeTest, EachParameterHasNumbersOfItsOwn) {
  const ParameterTable table = TableOf("tiny");
  const std::vector<float> arena = Initialized(table, 3);
  auto expect_first = [&](absl::string_view name, double uniform) {
    const Parameter& parameter = table.at(name);
    EXPECT_FLOAT_EQ(arena[parameter.offset],
                    static_cast<float>(uniform / std::sqrt(double(parameter.fan_in))))
        << name;
  };
  expect_first("embed.weight", -0.21402264486088063);
  expect_first("embed.bias", -0.10234450334034717);
  EXPECT_FLOAT_EQ(arena[table.at("position").offset], 0.04988136237680036f);
  expect_first("blocks.0.qkv.weight", 0.1782812118420425);
  std::set<float> firsts;
  size_t random = 0;
  for (const Parameter& p : table.parameters()) {
    if (p.fan_in == 0) continue;
    firsts.insert(arena[p.offset] * std::sqrt(static_cast<float>(p.fan_in)));
    ++random;
  }
  EXPECT_EQ(firsts.size(), random);
}

TEST(InitializeTest, ABiasOfAttentionIsZeroAndLeavesTheOthersAsTheyWere) {
  const ParameterTable without = TableOf("tiny"), with = TableOf("tiny", true);
  const std::vector<float> plain = Initialized(without, 7), biased = Initialized(with, 7);
  for (const Parameter& p : with.parameters()) {
    for (size_t i = 0; i < p.count; ++i) {
      const bool is_bias = p.kind == ParameterKind::kAttentionBias;
      const float expected = is_bias ? 0.0f : plain[without.at(p.name).offset + i];
      ASSERT_EQ(biased[p.offset + i], expected) << p.name;
    }
  }
}

TEST(InitializeTest, FollowsEachDistribution) {
  const ParameterTable table = TableOf("tiny");
  const std::vector<float> arena = Initialized(table, 3);
  auto deviation = [&](absl::string_view name) {
    const Parameter& p = table.at(name);
    double squares = 0;
    for (size_t i = 0; i < p.count; ++i) squares += std::pow(arena[p.offset + i], 2);
    return std::sqrt(squares / double(p.count));
  };
  // With 4,096 and 12,288 values, the sample deviation is within 5 % of the distribution's.
  EXPECT_NEAR(deviation("position"), 0.02, 0.001);
  EXPECT_NEAR(deviation("blocks.0.qkv.weight"), 0.125 / std::sqrt(3.0), 0.004);
  EXPECT_EQ(deviation("blocks.0.norm1.weight"), 1);
  EXPECT_EQ(deviation("blocks.0.norm1.bias"), 0);
}

}  // namespace
}  // namespace penstock
