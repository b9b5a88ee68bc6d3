#include "trainer/checkpoint/checkpoint.h"

#include <signal.h>
#include <sys/resource.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <optional>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "records/base/crc32c.h"
#include "tests/status_matchers.h"
#include "trainer/checkpoint/checkpoint_folder.h"
#include "trainer/checkpoint/checkpoint_json.h"
#include "trainer/checkpoint/same_bits.h"
#include "trainer/model/initialize.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

const ModelConfig kModel{"small", 1, 8, 2, 8};

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest()
      : folder_(absl::StrCat(testing::TempDir(), "/checkpoint_test.",
                             testing::UnitTest::GetInstance()->current_test_info()->name())),
        path_(folder_ + "/one.ckpt"),
        table_(ParameterTable::For(kModel)),
        state_(table_.arena_size()) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    InitializeParameters(table_, 1, state_.parameters);
    InitializeParameters(table_, 2, state_.m);
    InitializeParameters(table_, 3, state_.v);
    info_ = {.model = kModel,
             .seed = 7,
             .step = 41,
             .cursor = "ps1-00-1-2",
             .global_batch_size = 256,
             .virtual_shards = 8,
             .block_rows = 4,
             .targets = "a 0.8, b 11, k 400",
             .numerics = "cpu onednn avx512",
             .reduction = "fast",
             .compression = "bf16",
             .accumulate = 2,
             .remainder = "short",
             .precision = "bf16",
             .gemm_plan = "onednn",
             .libraries = "oneDNN 2.6.0",
             .world_size = 2,
             .score_sum = 0.1,
             .score_count = 12,
             .version = "0.1.0",
             .best = BestEvaluation{37, 0.02, 3},
             .judged_step = 40};
    state_.step = info_.step;
  }
  ~CheckpointTest() override { std::filesystem::remove_all(folder_); }

  absl::Status Save() { return SaveCheckpoint(path_, info_, table_, state_); }
  std::string ReadBytes() {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void WriteBytes(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }
  absl::Status LoadBytes(const std::string& bytes) {
    WriteBytes(bytes);
    return LoadCheckpoint(path_, kModel).status();
  }
  // `bytes` with a CRC that fits them.
  static std::string Sealed(std::string bytes) {
    const size_t body = bytes.size() - 4;
    const uint32_t crc = Crc32c({reinterpret_cast<const uint8_t*>(bytes.data()), body});
    std::memcpy(bytes.data() + body, &crc, 4);
    return bytes;
  }

  std::string folder_, path_;
  ParameterTable table_;
  TrainState state_;
  CheckpointInfo info_;
};

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
    info_.model = Vit();
    table_ = ParameterTable::For(info_.model);
    state_ = TrainState(table_.arena_size());
    state_.step = info_.step;
  }
  static ModelConfig Vit() {
    ModelConfig config{"vit", 1, 8, 2, 8};
    config.attention_width = 16;
    config.side = 4;
    config.patch = 2;
    config.classes = 3;
    config.head = {5, 6};
    config.flatten = true;
    config.gelu_twice = true;
    config.dropout = 0.1;
    config.head_dropout = 0.5;
    return config;
  }
};

TEST_F(ImageCheckpointTest, ReturnsTheModelThatWasSaved) {
  ASSERT_OK(Save());
  EXPECT_EQ(ReadBytes()[8], 4);  // Programs that know of no images refuse it.
  ASSERT_OK_AND_ASSIGN(const Checkpoint loaded, LoadCheckpoint(path_));
  EXPECT_EQ(loaded.info, info_);
  EXPECT_EQ(loaded.info.model, Vit());
}

TEST_F(ImageCheckpointTest, AnotherDropoutGoesOnWithOtherBits) {
  ASSERT_OK(Save());
  ModelConfig without = Vit();
  without.dropout = 0;
  ASSERT_OK_AND_ASSIGN(const Checkpoint loaded, LoadCheckpoint(path_, without));
  CheckpointInfo now = loaded.info;
  now.model = without;
  EXPECT_THAT(BitDifferences(loaded.info, now), ElementsAre("--dropout was 0.1, is 0"));
}

TEST_F(ImageCheckpointTest, OtherClassesAreNamed) {
  ASSERT_OK(Save());
  ModelConfig other = Vit();
  other.classes = 4;
  EXPECT_THAT(LoadCheckpoint(path_, other),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       testing::AllOf(HasSubstr("3 classes"), HasSubstr("--classes 3"))));
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

// A limit on file size stands in for a full disk.
class FullDisk {
 public:
  FullDisk() {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{100, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_;
};

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

TEST_F(CheckpointTest, FolderKeepsTheNewest) {
  ASSERT_OK_AND_ASSIGN(const CheckpointFolder folder,
                       CheckpointFolder::Open(folder_ + "/new/folder", 2));
  for (uint64_t step : {8, 9, 10}) {
    info_.step = step;
    ASSERT_OK(folder.Save(info_, table_, state_));
  }
  EXPECT_THAT(folder.List(), IsOkAndHolds(ElementsAre(EndsWith("step-000000009.ckpt"),
                                                      EndsWith("step-000000010.ckpt"))));
}

TEST_F(CheckpointTest, FilesOfOtherNamesAreTheUsers) {
  ASSERT_OK_AND_ASSIGN(const CheckpointFolder folder, CheckpointFolder::Open(folder_, 1));
  const std::vector<std::string> others = {"/step-000000005-keep.ckpt", "/step-good.ckpt",
                                           "/step-7.ckpt", "/step-0000000007.ckpt",
                                           "/step-00000001 .ckpt"};
  for (const auto& name : others) std::ofstream(folder_ + name) << "a copy";
  for (const uint64_t step : {5ul, 1'000'000'000ul}) {
    info_.step = step;
    ASSERT_OK(folder.Save(info_, table_, state_));
  }
  EXPECT_THAT(folder.List(), IsOkAndHolds(ElementsAre(EndsWith("/step-1000000000.ckpt"))));
  for (const auto& name : others) EXPECT_TRUE(std::filesystem::exists(folder_ + name)) << name;
}

TEST_F(CheckpointTest, ABestIsNeverAlone) {
  ASSERT_OK_AND_ASSIGN(const CheckpointFolder folder, CheckpointFolder::Open(folder_, 1));
  ASSERT_OK(folder.SaveBest(info_, table_, state_));
  EXPECT_THAT(folder.List(), IsOkAndHolds(ElementsAre(EndsWith("/step-000000041.ckpt"))));
}

TEST_F(CheckpointTest, AFullDiskIsToldWithWhatIsWholeAndWhatToDo) {
  ASSERT_OK_AND_ASSIGN(const CheckpointFolder folder, CheckpointFolder::Open(folder_, 2));
  std::vector<std::string> said;
  for (const uint64_t step : {41, 42}) {
    info_.step = step;
    {
      const FullDisk full;
      said.emplace_back(folder.Save(info_, table_, state_).message());
      EXPECT_TRUE(absl::IsResourceExhausted(folder.SaveBest(info_, table_, state_)));
    }
    ASSERT_OK(folder.Save(info_, table_, state_));
  }
  EXPECT_THAT(said[0], AllOf(HasSubstr("no earlier checkpoint"), HasSubstr("make room")));
  EXPECT_THAT(said[1], AllOf(HasSubstr("step-000000041.ckpt is whole, --resume auto"),
                             HasSubstr("ulimit -f")));
}

TEST_F(CheckpointTest, AFolderThatNobodyMayWriteInIsRefused) {
  EXPECT_THAT(CheckpointFolder::Open("/proc", 1).status().message(), HasSubstr("/proc/"));
}

TEST_F(CheckpointTest, AFolderThatAnotherTrainingHasIsRefused) {
  std::optional<CheckpointFolder> first = CheckpointFolder::Open(folder_, 1).value();
  EXPECT_THAT(CheckpointFolder::Open(folder_, 1),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(folder_), HasSubstr("another penstock-train"))));
  first.reset();
  EXPECT_OK(CheckpointFolder::Open(folder_, 1));
}

TEST_F(CheckpointTest, WhatAKilledProcessLeftIsRemoved) {
  const std::vector<std::string> unfinished = {"/.step-000000007.ckpt.tmp-12-0",
                                               "/.best.ckpt.tmp-12-1"};
  const std::vector<std::string> others = {"/.step-000000007.ckpt", "/.notes.tmp-12-0",
                                           "/step-000000007.ckpt.tmp-12-0"};
  for (const auto& name : unfinished) std::ofstream(folder_ + name) << "half";
  for (const auto& name : others) std::ofstream(folder_ + name) << "whole";
  ASSERT_OK(CheckpointFolder::Open(folder_, 1).status());
  for (const auto& name : unfinished) EXPECT_FALSE(std::filesystem::exists(folder_ + name)) << name;
  for (const auto& name : others) EXPECT_TRUE(std::filesystem::exists(folder_ + name)) << name;
}

TEST_F(CheckpointTest, TheBestStaysBesideTheNewest) {
  ASSERT_OK_AND_ASSIGN(const CheckpointFolder folder, CheckpointFolder::Open(folder_, 1));
  ASSERT_OK(folder.SaveBest(info_, table_, state_));
  for (uint64_t step : {42, 43}) {
    info_.step = step;
    ASSERT_OK(folder.Save(info_, table_, state_));
  }
  EXPECT_THAT(folder.List(), IsOkAndHolds(ElementsAre(EndsWith("step-000000043.ckpt"))));
  ASSERT_OK_AND_ASSIGN(const Checkpoint best, LoadCheckpoint(folder.best_path()));
  EXPECT_EQ(best.info.step, 41u);
}

// A run was cut off after an evaluation that the next one has yet to reach.
TEST_F(CheckpointTest, ABetterBestStaysUntilItIsReached) {
  ASSERT_OK_AND_ASSIGN(const CheckpointFolder folder, CheckpointFolder::Open(folder_, 1));
  const auto save = [&](uint64_t step, double loss) {
    info_.step = step;
    info_.best = BestEvaluation{.step = step, .loss = loss};
    EXPECT_OK(folder.SaveBest(info_, table_, state_));
    return LoadCheckpoint(folder.best_path())->info.step;
  };
  EXPECT_EQ(save(35, 0.2), 35u);
  EXPECT_EQ(save(10, 0.3), 35u);
  EXPECT_EQ(folder.BetterThan(info_)->step, 35u);
  EXPECT_EQ(save(36, 0.2), 36u);
  EXPECT_EQ(folder.BetterThan(info_), std::nullopt);
  info_.targets = "others";  // Of which a loss says nothing.
  EXPECT_EQ(save(40, 0.5), 40u);
}

TEST_F(CheckpointTest, NamesEveryReasonWhyBitsDiffer) {
  CheckpointInfo now = info_;
  EXPECT_THAT(BitDifferences(info_, now), testing::IsEmpty());
  now.virtual_shards = 4;
  now.targets = "a 0.8, b 11, k 4000";
  now.precision = "fp32";
  now.world_size = 3;
  EXPECT_THAT(BitDifferences(info_, now),
              ElementsAre("--virtual-shards was 8, is 4",
                          "the mate_score of --spec was a 0.8, b 11, k 400, is a 0.8, b 11, k 4000",
                          "--precision was bf16, is fp32", "the world size was 2, is 3"));
}

TEST_F(CheckpointTest, TheWorldSizeDoesNotMatterToADeterministicReduction) {
  info_.reduction = "deterministic";
  CheckpointInfo now = info_;
  now.world_size = 8;
  EXPECT_THAT(BitDifferences(info_, now), testing::IsEmpty());
  now.accumulate = 3;
  now.remainder = "carry";
  EXPECT_THAT(BitDifferences(info_, now),
              ElementsAre("--accumulate was 2, is 3", "--remainder was short, is carry"));
}

TEST_F(CheckpointTest, OfLongPlansWhereTheyDifferIsShown) {
  CheckpointInfo now = info_;
  info_.gemm_plan = std::string(1000, 'a') + "4" + std::string(1000, 'b');
  now.gemm_plan = std::string(1000, 'a') + "5" + std::string(1000, 'b');
  const std::string before(20, 'a'), after(59, 'b');
  EXPECT_THAT(BitDifferences(info_, now),
              ElementsAre("the GEMM plan was ..." + before + "4" + after + "..., is ..." + before +
                          "5" + after + "..."));
}

TEST_F(CheckpointTest, WhatAnOldFileDoesNotTellIsNotCompared) {
  CheckpointInfo now = info_;
  info_.gemm_plan = info_.libraries = info_.targets = "";
  EXPECT_THAT(BitDifferences(info_, now), testing::IsEmpty());
}

}  // namespace
}  // namespace penstock
