// The training loop on images: dropout has the same bits for any ranks and any resume point.
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"
#include "trainer/backend/cpu/cpu_backend.h"
#include "trainer/comm/testing/rank_threads.h"
#include "trainer/input/image_reader.h"
#include "trainer/input/testing/memory_images.h"
#include "trainer/loop/evaluate.h"
#include "trainer/loop/train_loop.h"
#include "trainer/model/initialize.h"

namespace penstock {
namespace {

const ModelConfig kImageModel = TinyVit();

struct ImageOutcome {
  absl::StatusOr<TrainSummary> summary = absl::UnknownError("not run");
  TrainState state;
};

// Trains from `start`, or from the seed's weights; two batches per step.
ImageOutcome Train(Communicator& ranks, TrainLoopOptions options,
                   std::optional<Checkpoint> start = std::nullopt, uint64_t seed = 3) {
  auto backend =
      CpuBackend::Create(kImageModel, {.threads = 1, .shards = 4, .ranks = &ranks}).value();
  CheckpointInfo info{.model = kImageModel, .seed = seed};
  if (start.has_value()) {
    info = start->info;
    backend->state() = std::move(start->state);
  } else {
    InitializeParameters(backend->table(), 5, backend->state().parameters);
  }
  MemoryImages input(kImageModel, 96, 8, /*seed=*/1, info.cursor, ranks.rank(), ranks.size());
  ImageReader reader(kImageModel.side, {.classes = kImageModel.classes});
  options.accumulate = 2;
  options.ranks = &ranks;
  options.open_holdout = [&]() -> absl::StatusOr<std::unique_ptr<Input>> {
    return std::make_unique<MemoryImages>(kImageModel, 21, 8, 9, "", ranks.rank(), ranks.size());
  };
  ImageOutcome outcome;
  outcome.summary = TrainLoop(*backend, reader, input, info, options).Run();
  outcome.state = backend->state();
  return outcome;
}

class ImageRanksTest : public testing::TestWithParam<uint32_t> {};

INSTANTIATE_TEST_SUITE_P(Worlds, ImageRanksTest, testing::Values(2, 4));

TEST_P(ImageRanksTest, WhatIsLeftOutDoesNotDependOnTheRanks) {
  SingleCommunicator alone;
  const ImageOutcome one = Train(alone, {});
  ASSERT_OK(one.summary);
  std::vector<ImageOutcome> outcomes(GetParam());
  RunRanks(GetParam(), [&](RankGroup& group) {
    outcomes[group.info().rank] = Train(group.communicator(), {});
  });
  for (const ImageOutcome& rank : outcomes) {
    ASSERT_OK(rank.summary);
    EXPECT_EQ(rank.state.parameters, one.state.parameters);
    EXPECT_EQ(rank.summary->loss_end, one.summary->loss_end);
    ASSERT_TRUE(rank.summary->evaluation.has_value());
    EXPECT_EQ(rank.summary->evaluation->records, 21u);
    EXPECT_EQ(rank.summary->evaluation->loss, one.summary->evaluation->loss);
    EXPECT_EQ(rank.summary->evaluation->hits, one.summary->evaluation->hits);
    EXPECT_EQ(rank.summary->evaluation->top5_hits, one.summary->evaluation->top5_hits);
  }
}

TEST(ImageLoopTest, GoesOnWithTheSameBits) {
  const TempFolder temp;
  ASSERT_OK_AND_ASSIGN(const CheckpointFolder folder, CheckpointFolder::Open(temp.File("c"), 1));
  SingleCommunicator alone;
  const ImageOutcome whole = Train(alone, {});
  ASSERT_OK(whole.summary);
  ASSERT_OK(Train(alone, {.total_steps = 3, .checkpoints = &folder}).summary);
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> files, folder.List());
  ASSERT_OK_AND_ASSIGN(Checkpoint checkpoint, LoadCheckpoint(files.back(), kImageModel));
  const ImageOutcome resumed = Train(alone, {}, std::move(checkpoint));
  ASSERT_OK(resumed.summary);
  EXPECT_EQ(resumed.summary->first_step, 3u);
  EXPECT_EQ(resumed.state.parameters, whole.state.parameters);
  EXPECT_EQ(resumed.state.m, whole.state.m);
}

// Batches have 8 records; the wrong label is in the fifth batch.
TEST(ImageLoopTest, AWrongLabelEndsATrainingThatSavesItsSteps) {
  const TempFolder temp;
  ASSERT_OK_AND_ASSIGN(const CheckpointFolder folder, CheckpointFolder::Open(temp.File("c"), 1));
  auto backend = CpuBackend::Create(kImageModel, {.threads = 1, .shards = 4}).value();
  InitializeParameters(backend->table(), 5, backend->state().parameters);
  MemoryImages input(kImageModel, 96, 8);
  input.SetLabel(35, 5);
  ImageReader reader(kImageModel.side, {.classes = kImageModel.classes});
  TrainLoop loop(*backend, reader, input, {.model = kImageModel}, {.checkpoints = &folder});
  EXPECT_THAT(loop.Run().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr("its label is 5")));
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> files, folder.List());
  ASSERT_THAT(files, testing::SizeIs(1));
  EXPECT_EQ(LoadCheckpoint(files[0])->info.step, 4u);
}

TEST(ImageLoopTest, AWrongHeldOutLabelIsAnErrorOfAllRanks) {
  RunRanks(2, [&](RankGroup& group) {
    auto backend =
        CpuBackend::Create(kImageModel, {.threads = 1, .shards = 4, .ranks = &group.communicator()})
            .value();
    const size_t rank = group.info().rank;
    MemoryImages input(kImageModel, 24, 8, 9, "", rank, 2);
    input.SetLabel(15, -1);  // This label is rank 1's, in the second batch.
    ImageReader reader(kImageModel.side, {.classes = kImageModel.classes});
    bool together = false;
    const absl::Status status =
        Evaluate(*backend, reader, input, 0, {}, &group.communicator(), &together).status();
    EXPECT_TRUE(together) << rank;
    EXPECT_THAT(status.message(), testing::HasSubstr("its label is -1")) << rank;
  });
}

TEST(ImageLoopTest, AnotherSeedLeavesOutOthers) {
  SingleCommunicator alone;
  const ImageOutcome a = Train(alone, {.total_steps = 1}),
                     b = Train(alone, {.total_steps = 1}, {}, 4);
  ASSERT_OK(a.summary);
  ASSERT_OK(b.summary);
  EXPECT_NE(a.state.parameters, b.state.parameters);
}

// Returns the same eight images repeatedly.
class SameImages final : public Input {
 public:
  absl::StatusOr<bool> Next(InputBatch& batch) override {
    return batches_.emplace_back(kImageModel, 8, 8).Next(batch);
  }
  bool Ready() const override { return true; }
  void Close() override {}

 private:
  std::deque<MemoryImages> batches_;  // A batch must live until it is finished.
};

// The loss of two steps on these images, with constant weights.
std::vector<double> LossesOfSameImages(uint64_t accumulate) {
  auto backend = CpuBackend::Create(kImageModel, {.threads = 1, .shards = 4}).value();
  InitializeParameters(backend->table(), 5, backend->state().parameters);
  SameImages input;
  ImageReader reader(kImageModel.side, {.classes = kImageModel.classes});
  std::vector<double> losses;
  TrainLoopOptions options{.total_steps = 2, .accumulate = accumulate};
  options.schedule.peak = 0;
  options.on_step = [&](const StepReport& report) { losses.push_back(report.loss); };
  EXPECT_OK(TrainLoop(*backend, reader, input, {.model = kImageModel}, options).Run());
  return losses;
}

TEST(ImageLoopTest, EveryBatchOfEveryStepLeavesOutOthers) {
  const std::vector<double> one = LossesOfSameImages(1), two = LossesOfSameImages(2);
  ASSERT_THAT(one, testing::SizeIs(2));
  ASSERT_THAT(two, testing::SizeIs(2));
  EXPECT_NE(one[0], one[1]);
  EXPECT_NE(two[0], one[0]) << "both batches had the same loss";
}

class HeldOutImagesTest : public testing::Test {
 protected:
  static std::unique_ptr<CpuBackend> MakeBackend(Communicator& ranks) {
    auto backend = CpuBackend::Create(kModel, {.threads = 1, .shards = 4, .ranks = &ranks}).value();
    InitializeParameters(backend->table(), 5, backend->state().parameters);
    return backend;
  }
  // Labels are the model's likeliest class; record 4 gets its sixth likeliest, record 5 its fifth.
  static MemoryImages Labelled(size_t records) {
    constexpr uint64_t kSeed = 9;
    MemoryImages input(kModel, records, 8, kSeed);
    RandomImages images(kModel, records, kSeed);
    SingleCommunicator alone;
    const auto backend = MakeBackend(alone);
    for (size_t c = 0; c < kModel.classes; ++c) {
      std::fill(images.classes.begin(), images.classes.end(), static_cast<float>(c));
      std::vector<float> results(2 * records);
      EXPECT_OK(backend->Predict(images.rows(), results, records));
      for (size_t i = 0; i < records; ++i) {
        const size_t ahead = i == 4 ? 5 : i == 5 ? 4 : 0;
        if (results[2 * i + 1] == static_cast<float>(ahead)) {
          input.SetLabel(i, static_cast<int64_t>(c));
        }
      }
    }
    return input;
  }

  static inline const ModelConfig kModel = TinyPooledVit();  // Has 7 classes.
  ImageReader reader_{kModel.side, {.classes = kModel.classes}};
};

TEST_F(HeldOutImagesTest, AnEvaluationTellsHowManyAreRight) {
  SingleCommunicator alone;
  MemoryImages input = Labelled(21);
  ASSERT_OK_AND_ASSIGN(const Evaluation evaluation,
                       Evaluate(*MakeBackend(alone), reader_, input, 0));
  EXPECT_EQ(evaluation.records, 21u);
  EXPECT_EQ(evaluation.hits, 19u);
  EXPECT_EQ(evaluation.top5_hits, 20u);
  EXPECT_GT(evaluation.loss, 0);
}

TEST_F(HeldOutImagesTest, OfFiveClassesThereIsNoTopFive) {
  SingleCommunicator alone;
  auto backend = CpuBackend::Create(kImageModel, {.threads = 1, .shards = 4}).value();
  InitializeParameters(backend->table(), 5, backend->state().parameters);
  MemoryImages input(kImageModel, 8, 8);
  ImageReader reader(kImageModel.side, {.classes = kImageModel.classes});
  ASSERT_OK_AND_ASSIGN(const Evaluation evaluation, Evaluate(*backend, reader, input, 0));
  EXPECT_TRUE(evaluation.hits.has_value());
  EXPECT_FALSE(evaluation.top5_hits.has_value());
}

TEST_F(HeldOutImagesTest, AnEvaluationIsOneLine) {
  Evaluation evaluation{.records = 8, .loss = 2.3026, .hits = 3};
  EXPECT_EQ(evaluation.ToString(), "loss 2.3026, accuracy 37.5 %");
  evaluation.top5_hits = 7;
  EXPECT_EQ(evaluation.ToString(), "loss 2.3026, accuracy 37.5 %, top-5 87.5 %");
}

TEST_F(HeldOutImagesTest, RanksThatEvaluateApartAddUpHowManyAreRight) {
  RunRanks(2, [&](RankGroup& group) {
    Communicator& ranks = group.communicator();
    MemoryImages input = Labelled(ranks.rank() == 0 ? 21 : 5);
    ImageReader reader = reader_;
    ASSERT_OK_AND_ASSIGN(const Evaluation evaluation,
                         EvaluateApart(*MakeBackend(ranks), reader, input, 0, {}, ranks));
    EXPECT_EQ(evaluation.records, 26u);
    EXPECT_EQ(evaluation.hits, 23u);
    EXPECT_EQ(evaluation.top5_hits, 24u);
  });
}

}  // namespace
}  // namespace penstock
