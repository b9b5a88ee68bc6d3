#include "trainer/checkpoint/checkpoint.h"

#include <cstring>
#include <filesystem>
#include <iterator>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/status_matchers.h"
#include "trainer/backend/testing/images.h"
#include "trainer/checkpoint/checkpoint_json.h"
#include "trainer/checkpoint/same_bits.h"
#include "trainer/checkpoint/testing/checkpoint_fixture.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(CheckpointTest, ReturnsWhatWasSaved) {
  ASSERT_OK(Save());
  ASSERT_OK_AND_ASSIGN(const Checkpoint loaded, LoadCheckpoint(path_, kModel));
  EXPECT_EQ(loaded.info, info_);
  EXPECT_EQ(loaded.state.parameters, state_.parameters);
  EXPECT_EQ(loaded.state.m, state_.m);
  EXPECT_EQ(loaded.state.v, state_.v);
  EXPECT_EQ(loaded.state.step, 41u);
}

class ImageCheckpointTest : public CheckpointTest {
 protected:
  ImageCheckpointTest() {
    info_.model = TinyVit();
    table_ = ParameterTable::For(info_.model);
    state_ = TrainState(table_.arena_size());
    state_.step = info_.step;
  }
};

TEST_F(ImageCheckpointTest, ReturnsTheModelThatWasSaved) {
  ASSERT_OK(Save());
  EXPECT_EQ(ReadBytes()[8], 4);  // Programs that know of no images refuse it.
  ASSERT_OK_AND_ASSIGN(const Checkpoint loaded, LoadCheckpoint(path_));
  EXPECT_EQ(loaded.info, info_);
  EXPECT_EQ(loaded.info.model, TinyVit());
}

TEST_F(ImageCheckpointTest, AnotherDropoutGoesOnWithOtherBits) {
  ASSERT_OK(Save());
  ModelConfig without = TinyVit();
  without.dropout = 0;
  ASSERT_OK_AND_ASSIGN(const Checkpoint loaded, LoadCheckpoint(path_, without));
  CheckpointInfo now = loaded.info;
  now.model = without;
  EXPECT_THAT(BitDifferences(loaded.info, now), ElementsAre("--dropout was 0.2, is 0"));
}

TEST_F(ImageCheckpointTest, OtherClassesAreNamed) {
  ASSERT_OK(Save());
  ModelConfig other = TinyVit();
  other.classes = 4;
  EXPECT_THAT(LoadCheckpoint(path_, other),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       testing::AllOf(HasSubstr("5 classes"), HasSubstr("--classes 5"))));
}

TEST_F(CheckpointTest, RefusesACutAtEveryByte) {
  ASSERT_OK(Save());
  const std::string whole = ReadBytes();
  for (size_t size = 0; size < whole.size(); size += size < 40 ? 1 : 61) {
    EXPECT_THAT(LoadBytes(whole.substr(0, size)),
                AnyOf(StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a checkpoint")),
                      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("it was cut"))))
        << size;
  }
}

TEST_F(CheckpointTest, RefusesAFlippedBitAnywhere) {
  ASSERT_OK(Save());
  const std::string whole = ReadBytes();
  for (size_t at = 0; at < whole.size(); at += at < 40 ? 1 : 61) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    EXPECT_FALSE(LoadBytes(flipped).ok()) << at;
  }
}

TEST_F(CheckpointTest, NamesBothChecksums) {
  ASSERT_OK(Save());
  std::string flipped = ReadBytes();
  flipped[flipped.size() / 2] ^= 1;
  EXPECT_THAT(LoadBytes(flipped),
              StatusIs(absl::StatusCode::kDataLoss, testing::ContainsRegex("one.ckpt.*stored")));
}

TEST_F(CheckpointTest, RefusesLengthsBeyondTheFile) {
  ASSERT_OK(Save());
  std::string forged = ReadBytes();
  std::memset(forged.data() + 12, 0xff, 12);
  EXPECT_THAT(LoadBytes(Sealed(forged)), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("cut")));
}

TEST_F(CheckpointTest, RefusesANewerVersion) {
  ASSERT_OK(Save());
  std::string newer = ReadBytes();
  newer[8] = 5;
  EXPECT_THAT(LoadBytes(Sealed(newer)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("version 5, this program reads versions 1 to 4")));
}

// Written by hand: header, the JSON that version 1 had, numbers, CRC.
TEST_F(CheckpointTest, ReadsVersion1) {
  nlohmann::json json = nlohmann::json::parse(CheckpointInfoToJson(info_, table_));
  for (const char* field :
       {"reduction", "compression", "accumulate", "remainder", "targets", "precision", "gemm_plan",
        "libraries", "world_size", "best", "judged_step"}) {
    ASSERT_EQ(json.erase(field), 1u) << field;
  }
  ASSERT_OK(Save());
  const std::string now = ReadBytes(), text = json.dump();
  const size_t data = 12 * table_.parameter_count();
  std::string old = now.substr(0, 24) + text + now.substr(now.size() - 4 - data);
  old[8] = 1;
  const auto size = static_cast<uint32_t>(text.size());
  std::memcpy(old.data() + 12, &size, 4);
  WriteBytes(Sealed(old));
  ASSERT_OK_AND_ASSIGN(const Checkpoint loaded, LoadCheckpoint(path_, kModel));
  EXPECT_EQ(loaded.state.v, state_.v);
  EXPECT_EQ(loaded.info.cursor, info_.cursor);
  EXPECT_EQ(loaded.info.reduction, "deterministic");
  EXPECT_EQ(loaded.info.remainder, "drop");
  EXPECT_EQ(loaded.info.precision, "fp32");
  EXPECT_FALSE(loaded.info.best.has_value());
}

TEST_F(CheckpointTest, AnOlderFileHasTheReductionInOneText) {
  struct Case {
    const char* text;
    const char* reduction;
    const char* compression;
    uint64_t accumulate;
  };
  for (const Case& old : {Case{"deterministic", "deterministic", "none", 1},
                          Case{"deterministic of 12 batches a step", "deterministic", "none", 12},
                          Case{"fast fp16", "fast", "fp16", 1},
                          Case{"fast bf16 of 2 batches a step", "fast", "bf16", 2}}) {
    nlohmann::json json = nlohmann::json::parse(CheckpointInfoToJson(info_, table_));
    json.erase("compression"), json.erase("accumulate");
    json["reduction"] = old.text;
    ASSERT_OK_AND_ASSIGN(const CheckpointInfo info, CheckpointInfoFromJson(json.dump()));
    EXPECT_EQ(info.reduction, old.reduction);
    EXPECT_EQ(info.compression, old.compression);
    EXPECT_EQ(info.accumulate, old.accumulate);
  }
}

TEST_F(CheckpointTest, AnOlderFileKnowsThatItsBestWasJudged) {
  nlohmann::json json = nlohmann::json::parse(CheckpointInfoToJson(info_, table_));
  ASSERT_EQ(json.erase("judged_step"), 1u);
  ASSERT_OK_AND_ASSIGN(const CheckpointInfo old, CheckpointInfoFromJson(json.dump()));
  EXPECT_EQ(old.judged_step, 37u);
}

TEST_F(CheckpointTest, TellsItsOwnModel) {
  ASSERT_OK(Save());
  ASSERT_OK_AND_ASSIGN(const Checkpoint loaded, LoadCheckpoint(path_));
  EXPECT_EQ(loaded.info.model, kModel);
  EXPECT_EQ(loaded.state.parameters, state_.parameters);
}

TEST_F(CheckpointTest, RefusesAModelThatIsNotThatOfItsNumbers) {
  for (const ModelConfig& model :
       {ModelConfig{"small", 2, 8, 2, 8}, ModelConfig{"small", size_t{1} << 60, 8, 2, 8},
        ModelConfig{"small", 1, 0, 2, 8}}) {
    info_.model = model;
    ASSERT_OK(Save());
    EXPECT_THAT(LoadCheckpoint(path_),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("bytes of numbers")));
  }
}

TEST_F(CheckpointTest, RefusesJsonOfAnotherShape) {
  ASSERT_OK(Save());
  std::string other = ReadBytes();
  other[24] = '[';
  EXPECT_THAT(LoadBytes(Sealed(other)), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("JSON")));
}

TEST_F(CheckpointTest, RefusesAnotherModelAndNamesBoth) {
  ASSERT_OK(Save());
  EXPECT_THAT(LoadCheckpoint(path_, ModelConfig::Named("tiny").value()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("\"small\""), HasSubstr("\"tiny\""),
                             HasSubstr("give --model small, or another folder"))));
}

class BiasedCheckpointTest : public CheckpointTest {
 protected:
  BiasedCheckpointTest() { biased_.attention_bias = true; }

  void SaveBiased() {
    info_.model = biased_;
    table_ = ParameterTable::For(biased_);
    state_ = TrainState(table_.arena_size());
    std::iota(state_.parameters.begin(), state_.parameters.end(), 1.0f);
    state_.step = info_.step;
    ASSERT_OK(Save());
  }

  ModelConfig biased_ = kModel;
};

TEST_F(BiasedCheckpointTest, ReturnsTheBias) {
  SaveBiased();
  ASSERT_OK_AND_ASSIGN(const Checkpoint loaded, LoadCheckpoint(path_, biased_));
  EXPECT_EQ(loaded.info, info_);
  const Parameter& bias = table_.at("blocks.0.attention_bias");
  EXPECT_EQ(loaded.state.parameters[bias.offset], static_cast<float>(bias.offset + 1));
}

// A program that knows of no bias would take its numbers for damage: it refuses the version.
TEST_F(BiasedCheckpointTest, OnlyModelsWithOneHaveANewVersionAndField) {
  ASSERT_OK(Save());
  EXPECT_EQ(ReadBytes()[8], 2);
  EXPECT_THAT(ReadBytes(), testing::Not(HasSubstr("attention_bias")));
  SaveBiased();
  EXPECT_EQ(ReadBytes()[8], 3);
  EXPECT_THAT(ReadBytes(), HasSubstr("attention_bias"));
}

TEST_F(BiasedCheckpointTest, AModelWithoutItIsAnotherAndTheOptionIsNamed) {
  ASSERT_OK(Save());
  EXPECT_THAT(LoadCheckpoint(path_, biased_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("hidden 8, with attention bias)"),
                             HasSubstr("--attention-bias was not given then"))));
  SaveBiased();
  EXPECT_THAT(LoadCheckpoint(path_, kModel),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("of the model \"small\""),
                             HasSubstr("--attention-bias was given then"))));
}

TEST_F(CheckpointTest, SaysWhichFileIsMissing) {
  EXPECT_THAT(LoadCheckpoint(path_, kModel),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("one.ckpt")));
}

TEST_F(CheckpointTest, AFullDiskLeavesTheOldFileWhole) {
  ASSERT_OK(Save());
  const std::string before = ReadBytes();
  info_.step = 42;
  absl::Status status;
  {
    const FullDisk full;
    status = Save();
  }
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("saving a checkpoint")));
  EXPECT_EQ(ReadBytes(), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

}  // namespace
}  // namespace penstock
