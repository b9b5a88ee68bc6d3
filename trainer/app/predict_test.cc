#include <cmath>
#include <filesystem>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"
#include "trainer/app/commands.h"
#include "trainer/app/predict_images.h"
#include "trainer/app/predict_records.h"
#include "trainer/app/restore.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/model/initialize.h"

namespace penstock {
namespace {

using testing::HasSubstr;

TEST(PredictTest, CentipawnsAreTheInverseOfTheScore) {
  EXPECT_NEAR(CentipawnsOf(static_cast<float>(0.8 * std::tanh(1.0))), 400, 0.01);
  EXPECT_NEAR(CentipawnsOf(static_cast<float>(-0.8 * std::tanh(0.5))), -200, 0.01);
  EXPECT_EQ(CentipawnsOf(0), 0);
  EXPECT_EQ(CentipawnsOf(0.95f), 1600);
  EXPECT_EQ(CentipawnsOf(-1), -1600);
}

TEST(PredictTest, NamesTheFenThatIsNone) {
  EXPECT_THAT(Predict("no.ckpt", {"8/8/8/8/8/8/8/8 w - - 0 1"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--fen 1, \"8/8")));
}

TEST(PredictTest, OneThingIsPredictedAtATime) {
  PredictOptions none, two, one;
  two.fens = one.fens = {"8/8"};
  two.images = {"a.png"};
  for (const PredictOptions& options : {none, two}) {
    EXPECT_THAT(
        CheckPredict(options),
        StatusIs(
            absl::StatusCode::kInvalidArgument,
            HasSubstr("one of --fen, --image and DATASET (DATASET alone or behind --manifest)")));
  }
  EXPECT_OK(CheckPredict(one));
}

TEST(PredictTest, TheSummaryOfRecordsHasTheShapesOfTheFile) {
  const PredictedRecords predicted = {
      .records = 500, .arrays = {{"record_id", Dtype::kI64}, {"prediction", Dtype::kF32, {10}}}};
  EXPECT_EQ(
      ToJson(predicted, "p.npz").dump(),
      R"({"records":500,"output":"p.npz","shapes":{"record_id":[500],"prediction":[500,10]}})");
}

// A PNG of one pixel, 8-bit grey.
constexpr unsigned char kPixel[] = {
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48,
    0x44, 0x52, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x00, 0x00,
    0x00, 0x3a, 0x7e, 0x9b, 0x55, 0x00, 0x00, 0x00, 0x0a, 0x49, 0x44, 0x41, 0x54, 0x78,
    0x9c, 0x63, 0xf8, 0x0f, 0x00, 0x01, 0x01, 0x01, 0x00, 0xb1, 0x38, 0xf6, 0x14, 0x00,
    0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};

class PredictImagesTest : public testing::Test {
 protected:
  PredictImagesTest() {
    info_.model = ModelConfig::Named("vit").value();
    info_.model.head = {8};
    info_.model.classes = 7;
  }
  absl::Status Save() {
    const ParameterTable table = ParameterTable::For(info_.model);
    TrainState state(table.arena_size());
    InitializeParameters(table, 3, state.parameters);
    return SaveCheckpoint(checkpoint_, info_, table, state);
  }

  const TempFolder folder_;
  const std::string checkpoint_ = folder_.File("a.ckpt");
  const std::string image_ =
      folder_.Write("a.png", std::string(std::begin(kPixel), std::end(kPixel)));
  CheckpointInfo info_;
};

TEST_F(PredictImagesTest, WeightsThatAreNotFiniteAreRefused) {
  const ParameterTable table = ParameterTable::For(info_.model);
  TrainState state(table.arena_size());
  state.parameters[7] = std::numeric_limits<float>::quiet_NaN();
  state.parameters[8] = std::numeric_limits<float>::infinity();
  ASSERT_OK(SaveCheckpoint(checkpoint_, info_, table, state));
  EXPECT_THAT(PredictImages(checkpoint_, {image_}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("a.ckpt: 2 of ")));
  EXPECT_OK(LoadCheckpoint(checkpoint_).status());
}

TEST(FindCheckpointTest, AutoPassesOverLinksWithoutAFile) {
  TempFolder folder;
  ASSERT_OK_AND_ASSIGN(const CheckpointFolder checkpoints,
                       CheckpointFolder::Open(folder.path(), 3));
  CheckpointInfo info;
  info.model = ModelConfig::Named("vit").value();
  info.model.head = {8};
  info.model.classes = 7;
  info.step = 1;
  const ParameterTable table = ParameterTable::For(info.model);
  TrainState state(table.arena_size());
  state.step = 1;
  ASSERT_OK(checkpoints.Save(info, table, state));
  std::filesystem::create_symlink("nowhere", folder.File("step-000000002.ckpt"));
  std::filesystem::create_symlink("step-000000003.ckpt", folder.File("step-000000003.ckpt"));
  ASSERT_OK_AND_ASSIGN(const auto found, FindCheckpoint("auto", &checkpoints));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->checkpoint.info.step, 1u);
}

TEST_F(PredictImagesTest, ThoseOfACheckpointWithoutNamesAreNumbers) {
  ASSERT_OK(Save());
  ASSERT_OK_AND_ASSIGN(const auto images, PredictImages(checkpoint_, {image_, image_}));
  ASSERT_THAT(images, testing::SizeIs(2));
  EXPECT_EQ(images[1].file, image_);
  ASSERT_THAT(images[1].classes, testing::SizeIs(5));
  for (size_t i = 0; i < 5; ++i) {
    const LikelyClass& likely = images[1].classes[i];
    EXPECT_EQ(likely.name, absl::StrCat(likely.number));
    EXPECT_EQ(likely.probability, images[0].classes[i].probability);
    EXPECT_LE(likely.probability, images[1].classes[i > 0 ? i - 1 : 0].probability);
  }
}

TEST_F(PredictImagesTest, ClassesHaveTheNamesOfTheCheckpoint) {
  info_.class_names = {"ant", "bee", "cat", "dog", "elk", "fox", "gnu"};
  ASSERT_OK(Save());
  ASSERT_OK_AND_ASSIGN(const auto images, PredictImages(checkpoint_, {image_}));
  for (const LikelyClass& likely : images[0].classes) {
    EXPECT_EQ(likely.name, info_.class_names[likely.number]);
  }
}

TEST_F(PredictImagesTest, AFileThatIsNoImageIsNamed) {
  ASSERT_OK(Save());
  const std::string text = folder_.Write("b.jpg", "no image");
  EXPECT_THAT(PredictImages(checkpoint_, {image_, text}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("b.jpg: ")));
  EXPECT_THAT(PredictImages(checkpoint_, {"none.jpg"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none.jpg")));
}

TEST_F(PredictImagesTest, ACheckpointOfBoardsIsRefused) {
  info_ = {};
  info_.model = ModelConfig::Named("tiny").value();
  ASSERT_OK(Save());
  EXPECT_THAT(PredictImages(checkpoint_, {image_}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("give --fen")));
}

TEST(ImagePredictionTest, IsALineAClass) {
  EXPECT_EQ(ToText({"a.jpg", {{3, "red fox", 0.9312}, {0, "0", 0.05}}}),
            "a.jpg\n   93.1 %  red fox\n    5.0 %  0\n");
  EXPECT_EQ(ToJson({{"a.jpg", {{3, "red fox", 0.5}}}}).dump(),
            R"([{"image":"a.jpg","classes":[{"class":3,"name":"red fox","probability":0.5}]}])");
}

TEST(OpsForTest, ThoseOfTheSpecThatEvaluationsWereReadWith) {
  CheckpointInfo info;
  info.model = ModelConfig::Named("vit").value();
  info.eval_spec = R"(tensor { name: "image" image { feature: "jpeg" orient: true
      resize { height: 72 width: 72 } } })";
  ASSERT_OK_AND_ASSIGN(const ImageOps ops, OpsFor(info));
  EXPECT_TRUE(ops.orient);
  EXPECT_TRUE(std::holds_alternative<ResizeOp>(ops.crop));
  info.model = ModelConfig::Named("vit-small").value();
  EXPECT_THAT(OpsFor(info), StatusIs(absl::StatusCode::kInvalidArgument,
                                     HasSubstr("72 x 72 x 3, but its model reads 224 x 224 x 3")));
}

TEST(OpsForTest, ARandomPartIsTheCentralOne) {
  CheckpointInfo info;
  info.model = ModelConfig::Named("vit").value();
  info.eval_spec = R"(tensor { name: "image" image { feature: "jpeg" flip: 0.5
      random_resized_crop { height: 72 width: 72 } } })";
  ASSERT_OK_AND_ASSIGN(const ImageOps ops, OpsFor(info));
  EXPECT_EQ(std::get<ResizeShorterOp>(ops.crop).side, 82u);
  EXPECT_EQ(ops.flip_probability, 0);
}

TEST(OpsForTest, WhatIsDrawnAllTheSameIsTold) {
  CheckpointInfo info;
  info.model = ModelConfig::Named("vit").value();
  info.eval_spec = R"(tensor { name: "image" image { feature: "jpeg"
      random_crop { height: 72 width: 72 padding: 4 } } })";
  testing::internal::CaptureStderr();
  EXPECT_OK(OpsFor(info));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("random_crop of tensor 'image'"));
}

TEST(OpsForTest, OfPixelsTheShorterSideIsAnEighthLarger) {
  CheckpointInfo info;
  info.model = ModelConfig::Named("vit-small").value();
  ASSERT_OK_AND_ASSIGN(const ImageOps ops, OpsFor(info));
  EXPECT_EQ(std::get<ResizeShorterOp>(ops.crop).side, 256u);
  EXPECT_EQ(ops.output(), (Size{224, 224}));
}

}  // namespace
}  // namespace penstock
