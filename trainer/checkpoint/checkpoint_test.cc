#include "trainer/checkpoint/checkpoint.h"

#include <cstring>
#include <filesystem>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
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
  EXPECT_EQ(ReadBytes()[8], 4);  // Programs without image models refuse it.
  ASSERT_OK_AND_ASSIGN(const Checkpoint loaded, LoadCheckpoint(path_));
  EXPECT_EQ(loaded.info, info_);
  EXPECT_EQ(loaded.info.model, TinyVit());
}

// Programs that normalise all images alike would predict nonsense, so they must refuse the version.
TEST_F(ImageCheckpointTest, OtherPixelStatisticsHaveANewVersion) {
  info_.model.pixels = {.mean = {0.5, 0.25, 1.0 / 3}, .deviation = {0.5, 0.2, 1}};
  ASSERT_OK(Save());
  EXPECT_EQ(ReadBytes()[8], 5);
  ASSERT_OK_AND_ASSIGN(const Checkpoint loaded, LoadCheckpoint(path_));
  EXPECT_EQ(loaded.info.model, info_.model);
  EXPECT_THAT(LoadCheckpoint(path_, TinyVit()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("give --image-mean 0.5,0.25,0.3333333333333333 "
                                 "--image-std 0.5,0.2,1")));
}

TEST_F(ImageCheckpointTest, WithoutPixelStatisticsTheyAreThoseOfImageNet) {
  ASSERT_OK(Save());
  const std::string whole = ReadBytes();
  nlohmann::json old = nlohmann::json::parse(CheckpointInfoToJson(info_, table_));
  old["model"]["image"].erase("mean");
  old["model"]["image"].erase("std");
  WriteBytes(WithJson(whole, old.dump()));
  ASSERT_OK_AND_ASSIGN(const Checkpoint loaded, LoadCheckpoint(path_));
  EXPECT_EQ(loaded.info.model, TinyVit());
}

TEST_F(ImageCheckpointTest, ReturnsTheNamesOfItsClasses) {
  info_.class_names = {"n01440764", "", "hen, rooster", "\u00fc \"q\"\n", "e"};
  ASSERT_OK(Save());
  EXPECT_EQ(ReadBytes()[8], 4);
  EXPECT_EQ(LoadCheckpoint(path_)->info, info_);
}

TEST_F(ImageCheckpointTest, ReturnsTheSpecOfItsEvaluations) {
  info_.eval_spec = "tensor { name: \"image\" }";
  ASSERT_OK(Save());
  EXPECT_EQ(LoadCheckpoint(path_)->info, info_);
}

TEST_F(ImageCheckpointTest, NamesOfAnyBytesAreSaved) {
  info_.class_names = {"a", "\xff\xfe", "c", "d", "e"};
  ASSERT_OK(Save());
  ASSERT_OK_AND_ASSIGN(const Checkpoint loaded, LoadCheckpoint(path_));
  EXPECT_THAT(loaded.info.class_names, ElementsAre("a", "\ufffd\ufffd", "c", "d", "e"));
}

TEST_F(ImageCheckpointTest, LongNamesAreSaved) {
  info_.model.classes = 512;
  table_ = ParameterTable::For(info_.model);
  state_ = TrainState(table_.arena_size());
  info_.class_names.assign(512, std::string(kMostNameBytes / 512, '\x01'));
  ASSERT_OK(Save());
  EXPECT_EQ(LoadCheckpoint(path_)->info.class_names, info_.class_names);
}

TEST_F(ImageCheckpointTest, RefusesNamesThatAreNotThoseOfItsClasses) {
  ASSERT_OK(Save());
  const std::string whole = ReadBytes();
  for (const char* value :
       {"null", "\"a\"", "[]", "[\"a\", \"b\", \"c\", \"d\"]", "[\"a\", \"b\", \"c\", \"d\", 5]"}) {
    nlohmann::json forged = nlohmann::json::parse(CheckpointInfoToJson(info_, table_));
    forged["class_names"] = nlohmann::json::parse(value);
    WriteBytes(WithJson(whole, forged.dump()));
    EXPECT_THAT(LoadCheckpoint(path_),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("field class_names: ")));
  }
}

TEST_F(ImageCheckpointTest, RefusesPixelStatisticsThatAreNone) {
  ASSERT_OK(Save());
  const std::string whole = ReadBytes();
  for (const char* value : {"null", "0.5", "[0.5]", "[0.5, 0.5, 0.5, 0.5]", "[0.5, 0.5, null]",
                            "[0.5, 0.5, 2]", "[0.5, 0.5, -1]"}) {
    for (const char* field : {"mean", "std"}) {
      nlohmann::json forged = nlohmann::json::parse(CheckpointInfoToJson(info_, table_));
      forged["model"]["image"][field] = nlohmann::json::parse(value);
      WriteBytes(WithJson(whole, forged.dump()));
      EXPECT_FALSE(LoadCheckpoint(path_).ok()) << field << value;
    }
  }
}

// Programs without dropout would train on without it, so they must refuse the version.
TEST_F(CheckpointTest, AModelWithAnyDropoutHasANewVersion) {
  for (double ModelConfig::*dropout : {&ModelConfig::dropout, &ModelConfig::head_dropout}) {
    info_.model = kModel;
    info_.model.*dropout = 0.1;
    ASSERT_OK(Save());
    EXPECT_EQ(ReadBytes()[8], 4);
  }
}

TEST_F(ImageCheckpointTest, AnotherDropoutGoesOnWithOtherBits) {
  ASSERT_OK(Save());
  ModelConfig without = TinyVit();
  without.dropout = 0;
  ASSERT_OK_AND_ASSIGN(const Checkpoint loaded, LoadCheckpoint(path_, without));
  CheckpointInfo now = loaded.info;
  now.model = without;
  EXPECT_THAT(BitDifferences(loaded.info, now), ElementsAre("--dropout was 0.2 and is now 0"));
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
                      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("it is truncated"))))
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
  EXPECT_THAT(LoadBytes(Sealed(forged)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("truncated")));
}

TEST_F(CheckpointTest, RefusesANewerVersion) {
  ASSERT_OK(Save());
  std::string newer = ReadBytes();
  newer[8] = 6;
  EXPECT_THAT(LoadBytes(Sealed(newer)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("version 6, but this program reads versions 1 to 5")));
  newer[8] = 0;
  EXPECT_THAT(LoadBytes(Sealed(newer)),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("version 0")));
}

// Written by hand: header, the JSON of version 1, numbers, CRC.
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
  ASSERT_OK(Save());
  std::string cut = ReadBytes();
  const uint64_t size = 12 * table_.parameter_count() - 12;
  cut.erase(cut.size() - 16, 12);
  std::memcpy(cut.data() + 16, &size, 8);
  EXPECT_THAT(LoadBytes(Sealed(cut)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("bytes of weights and moments")));
}

TEST_F(CheckpointTest, RefusesParametersThatAreNotThoseOfItsModel) {
  info_.model.layers = 2;
  ASSERT_OK(Save());
  EXPECT_THAT(LoadCheckpoint(path_),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("field parameters")));
}

// Files with a correct CRC whose JSON no training writes.
class ForgedCheckpointTest : public CheckpointTest {
 protected:
  void SetUp() override {
    ASSERT_OK(Save());
    whole_ = ReadBytes();
    json_ = nlohmann::json::parse(CheckpointInfoToJson(info_, table_));
  }

  // Loads a file whose field at `pointer`, "/model/layers", has this JSON value.
  absl::Status LoadWith(const std::string& pointer, const std::string& value) {
    nlohmann::json forged = json_;
    forged[nlohmann::json::json_pointer(pointer)] = "@VALUE@";
    const std::string text = absl::StrReplaceAll(forged.dump(), {{"\"@VALUE@\"", value}});
    WriteBytes(WithJson(whole_, text));
    return LoadCheckpoint(path_).status();
  }
  // The error must name the file and the field.
  void ExpectRefused(const std::string& pointer, const std::string& value) {
    const std::string field = absl::StrReplaceAll(pointer.substr(1), {{"/", "."}});
    EXPECT_THAT(LoadWith(pointer, value),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr("one.ckpt"), HasSubstr("field " + field + ": "))))
        << value;
  }

  std::string whole_;
  nlohmann::json json_;
};

constexpr const char* kNoCounts[] = {"-1",
                                     "9223372036854775808",
                                     "18446744073709551615",
                                     "18446744073709551616",
                                     "-9223372036854775809",
                                     "1.5",
                                     "1e300",
                                     "null",
                                     "true",
                                     "\"41\"",
                                     "[41]",
                                     "{}"};

TEST_F(ForgedCheckpointTest, RefusesCountsThatAreNone) {
  for (const char* field :
       {"/step", "/global_batch_size", "/virtual_shards", "/block_rows", "/accumulate",
        "/world_size", "/score_count", "/judged_step", "/best/step", "/best/evaluations_since",
        "/model/layers", "/model/dim", "/model/heads", "/model/hidden"}) {
    ASSERT_OK(LoadWith(field, json_[nlohmann::json::json_pointer(field)].dump())) << field;
    for (const char* value : kNoCounts) ExpectRefused(field, value);
  }
}

TEST_F(ForgedCheckpointTest, ASeedIsAnyNumberOf64Bits) {
  EXPECT_OK(LoadWith("/seed", "18446744073709551615"));
  for (const char* value : {"-1", "18446744073709551616", "1.5", "null", "\"7\""}) {
    ExpectRefused("/seed", value);
  }
}

TEST_F(ForgedCheckpointTest, RefusesSumsAndLossesThatAreNoFiniteNumbers) {
  for (const char* field : {"/score_sum", "/best/loss", "/model/dropout"}) {
    EXPECT_OK(LoadWith(field, "0.5")) << field;
    for (const char* value : {"null", "\"0.5\"", "true", "[0.5]", "{}"}) {
      ExpectRefused(field, value);
    }
    for (const char* value : {"NaN", "Infinity", "1e999"})
      EXPECT_FALSE(LoadWith(field, value).ok());
  }
}

TEST_F(ForgedCheckpointTest, RefusesTextsThatAreNone) {
  for (const char* field :
       {"/cursor", "/numerics", "/version", "/reduction", "/compression", "/remainder", "/targets",
        "/precision", "/gemm_plan", "/libraries", "/model/name"}) {
    for (const char* value : {"null", "1", "true", "[]", "{}"}) ExpectRefused(field, value);
  }
}

TEST_F(ForgedCheckpointTest, RefusesAMissingField) {
  for (const char* field :
       {"model", "parameters", "seed", "step", "cursor", "global_batch_size", "virtual_shards",
        "block_rows", "numerics", "score_sum", "score_count", "version"}) {
    nlohmann::json forged = json_;
    forged.erase(field);
    WriteBytes(WithJson(whole_, forged.dump()));
    EXPECT_THAT(LoadCheckpoint(path_),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(absl::StrCat("field ", field))));
  }
}

TEST_F(ForgedCheckpointTest, RefusesFieldsThatContradictOneAnother) {
  ExpectRefused("/best/step", "42");              // It is after the checkpoint's step.
  ExpectRefused("/best/evaluations_since", "5");  // It exceeds the steps since the best.
  ExpectRefused("/judged_step", "36");            // It is before the best.
  ExpectRefused("/judged_step", "42");
  ExpectRefused("/model", "[]");
  ExpectRefused("/best", "1");
}

TEST_F(ForgedCheckpointTest, RefusesParametersThatAreNotTheModels) {
  for (const auto& [field, value] : {std::pair{"/parameters", "[]"},
                                     {"/parameters", "7"},
                                     {"/parameters/0", "null"},
                                     {"/parameters/0/name", "\"other\""},
                                     {"/parameters/0/shape", "[8]"},
                                     {"/parameters/0/shape/0", "-1"},
                                     {"/parameters/0/shape/0", "1.5"}}) {
    EXPECT_THAT(LoadWith(field, value),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("field parameters: ")));
  }
}

// Nothing of the file's size is allocated before the size is known to fit the model.
TEST_F(ForgedCheckpointTest, RefusesASizeThatIsNotTheModels) {
  std::string huge = whole_;
  const uint64_t size = uint64_t{1} << 40;
  std::memcpy(huge.data() + 16, &size, sizeof(size));
  WriteBytes(huge);
  // Adds a hole to the file.
  std::filesystem::resize_file(path_, whole_.size() - 12 * table_.parameter_count() + size);
  EXPECT_THAT(LoadCheckpoint(path_),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("one.ckpt"),
                             HasSubstr("1099511627776 bytes of weights and moments"))));
}

TEST_F(ForgedCheckpointTest, AnErrorHoldsNoControlCharacter) {
  const absl::Status refused = LoadWith("/step", "\"\\u001b]0;owned\\u0007\"");
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("u001b")));
  EXPECT_EQ(refused.message().find('\x1b'), absl::string_view::npos);
}

TEST_F(ImageCheckpointTest, RefusesImageFieldsOutOfRange) {
  ASSERT_OK(Save());
  const std::string whole = ReadBytes();
  for (const char* field : {"side", "patch", "classes", "attention_width", "head", "flatten"}) {
    for (const char* value : {"-1", "4294967297", "1.5", "null", "\"1\"", "[0]", "[-1]"}) {
      nlohmann::json forged = nlohmann::json::parse(CheckpointInfoToJson(info_, table_));
      forged["model"]["image"][field] = nlohmann::json::parse(value);
      WriteBytes(WithJson(whole, forged.dump()));
      EXPECT_THAT(LoadCheckpoint(path_),
                  StatusIs(absl::StatusCode::kDataLoss,
                           HasSubstr(absl::StrCat("field model.image.", field))));
    }
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
                             HasSubstr("give --model small, or another --checkpoint-dir"))));
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

// A program without biases would take their numbers for damage, so it must refuse the version.
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
                             HasSubstr("leave --attention-bias out"))));
  SaveBiased();
  EXPECT_THAT(LoadCheckpoint(path_, kModel),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("the file has model \"small\""),
                             HasSubstr("; give --attention-bias"))));
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
