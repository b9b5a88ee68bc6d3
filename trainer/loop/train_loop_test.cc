#include "trainer/loop/train_loop.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/sha256.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/loop/testing/train_loop_fixture.h"

namespace penstock {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

// Computed in Python from the definition.
TEST(DropoutKeyTest, IsTheSameInEveryVersion) {
  EXPECT_EQ(DropoutKey(/*seed=*/3, /*steps=*/5, /*batch=*/1), 0xa55eda1849d1d972u);
}

TEST_F(TrainLoopTest, ReportsEveryStep) {
  auto backend = MakeBackend();
  std::vector<StepReport> reports;
  TrainLoopOptions options{.schedule = {.peak = 1e-3, .warmup_steps = 4}};
  options.on_step = [&](const StepReport& report) { reports.push_back(report); };
  ASSERT_OK_AND_ASSIGN(const TrainSummary summary, Train(*backend, options));
  ASSERT_THAT(reports, SizeIs(8));
  EXPECT_EQ(reports[2].step, 3u);
  EXPECT_DOUBLE_EQ(reports[0].learning_rate, 2.5e-4);
  EXPECT_EQ(summary.rows, 128u);
  EXPECT_EQ(summary.cursor, "128");
  EXPECT_GT(summary.compute.count(), 0);
}

TEST_F(TrainLoopTest, SumsUpTheLossesOfItsFirstAndLastTenSteps) {
  auto backend = MakeBackend();
  std::vector<double> losses;
  TrainLoopOptions options;
  options.on_step = [&](const StepReport& report) { losses.push_back(report.loss); };
  MemoryInput input(16 * 13, 16);
  TrainLoop loop(*backend, reader_, input, {.model = kModel}, options);
  ASSERT_OK_AND_ASSIGN(const TrainSummary summary, loop.Run());
  ASSERT_THAT(losses, SizeIs(13));
  EXPECT_NEAR(summary.loss_start, std::accumulate(losses.begin(), losses.end() - 3, 0.0) / 10,
              1e-9);
  EXPECT_NEAR(summary.loss_end, std::accumulate(losses.begin() + 3, losses.end(), 0.0) / 10, 1e-9);
}

TEST_F(TrainLoopTest, DigestIsOfTheRowsInOrderWhateverTheBatches) {
  auto digest_with_batches_of = [&](size_t size) {
    auto backend = MakeBackend();
    MemoryInput input(100, size);
    return TrainLoop(*backend, reader_, input, {.model = kModel}, {.digest = true})
        .Run()
        .value()
        .digest;
  };
  MemoryInput input(100, 100);
  InputBatch batch;
  ASSERT_OK(input.Next(batch));
  Sha256 expected;
  for (size_t row = 0; row < 100; ++row) {
    expected.Update(batch.tensors[0].bytes.subspan(row * 194, 194));
    expected.Update(batch.tensors[1].bytes.subspan(row * 8, 8));
  }
  EXPECT_EQ(digest_with_batches_of(100), expected.Hex());
  EXPECT_EQ(digest_with_batches_of(32), expected.Hex());
}

TEST_F(TrainLoopTest, LearnsWhatTheHeldOutRecordsShare) {
  auto backend = MakeBackend();
  TrainSummary summary;
  for (int epoch = 0; epoch < 12; ++epoch) {
    ASSERT_OK_AND_ASSIGN(summary, Train(*backend, WithHoldout({.schedule = {.peak = 3e-3}})));
  }
  ASSERT_TRUE(summary.evaluation.has_value());
  EXPECT_EQ(summary.evaluation->records, 37u);
  EXPECT_GT(summary.evaluation->below_mean_percent(), 50);
}

// Scores are +-0.8 tanh(0.75). The loss of predicting one number for all is their variance plus the
// square of the number's distance from their mean.
TEST_F(TrainLoopTest, EvaluationCountsEveryRecordOnceAgainstBothMeans) {
  auto backend = MakeBackend();
  MemoryInput holdout(37, 16, 9), again(37, 37, 9);
  InputBatch batch;
  ASSERT_OK(again.Next(batch));
  ASSERT_OK_AND_ASSIGN(const BatchRows rows, reader_.Read(batch));
  std::vector<float> predictions(37);
  ASSERT_OK(backend->Predict(rows, predictions, 37));
  double loss = 0, mean = 0, from_quarter = 0, from_mean = 0;
  for (size_t i = 0; i < 37; ++i) {
    loss += std::pow(double(predictions[i]) - rows.targets[i], 2) / 37;
    mean += double(rows.targets[i]) / 37;
    from_quarter += std::pow(0.25 - rows.targets[i], 2) / 37;
  }
  for (size_t i = 0; i < 37; ++i) from_mean += std::pow(mean - rows.targets[i], 2) / 37;
  BoardReader reader;
  ASSERT_OK_AND_ASSIGN(const Evaluation result, Evaluate(*backend, reader, holdout, 0.25));
  EXPECT_NEAR(result.loss, loss, 1e-6);
  EXPECT_NEAR(result.train_mean_loss, from_quarter, 1e-12);
  EXPECT_NEAR(result.own_mean_loss, from_mean, 1e-12);
}

TEST_F(TrainLoopTest, EvaluationIsPrintedAgainstTheMean) {
  EXPECT_EQ((Evaluation{.records = 1, .loss = 0.0123, .train_mean_loss = 0.0246}).ToString(),
            "loss 0.0123, 50.0 % below predicting the mean (0.0246)");
  EXPECT_EQ((Evaluation{.records = 1, .loss = 0.03, .train_mean_loss = 0.02}).ToString(),
            "loss 0.0300, 50.0 % above predicting the mean (0.0200)");
}

TEST_F(TrainLoopTest, NoHeldOutRecordsIsAnError) {
  auto backend = MakeBackend();
  MemoryInput nothing(0, 1);
  EXPECT_THAT(Evaluate(*backend, reader_, nothing, 0),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("--holdout")));
}

TEST_F(TrainLoopTest, ResumeContinuesBitForBit) {
  auto whole = MakeBackend();
  ASSERT_OK(Train(*whole, {.clip_norm = 0.3}));

  ASSERT_OK_AND_ASSIGN(const CheckpointFolder folder, CheckpointFolder::Open(folder_, 1));
  auto first = MakeBackend();
  int steps = 0;
  TrainLoopOptions options{.clip_norm = 0.3, .checkpoints = &folder};
  options.should_stop = [&] { return steps++ == 3; };
  ASSERT_OK_AND_ASSIGN(const TrainSummary stopped, Train(*first, options));
  EXPECT_TRUE(stopped.stopped);

  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> files, folder.List());
  ASSERT_THAT(files, SizeIs(1));
  ASSERT_OK_AND_ASSIGN(Checkpoint checkpoint, LoadCheckpoint(files[0], kModel));
  EXPECT_EQ(checkpoint.info.step, 3u);
  EXPECT_EQ(checkpoint.info.cursor, "48");
  auto second = MakeBackend(/*threads=*/3);
  second->state() = std::move(checkpoint.state);
  ASSERT_OK_AND_ASSIGN(const TrainSummary resumed,
                       Train(*second, {.clip_norm = 0.3}, checkpoint.info));
  EXPECT_EQ(resumed.first_step, 3u);
  EXPECT_EQ(resumed.step, 8u);
  EXPECT_EQ(second->state().parameters, whole->state().parameters);
  EXPECT_EQ(second->state().m, whole->state().m);
  EXPECT_EQ(second->state().v, whole->state().v);
}

TEST_F(TrainLoopTest, EndsAtTotalSteps) {
  auto backend = MakeBackend();
  ASSERT_OK_AND_ASSIGN(const TrainSummary summary, Train(*backend, {.total_steps = 5}));
  EXPECT_EQ(summary.step, 5u);
  EXPECT_EQ(summary.cursor, "80");
}

TEST_F(TrainLoopTest, AClosedInputStopsTheRunAndSavesIt) {
  ASSERT_OK_AND_ASSIGN(const CheckpointFolder folder, CheckpointFolder::Open(folder_, 1));
  auto backend = MakeBackend();
  MemoryInput input(128, 16);
  bool closed = false;
  int asked_after_close = 0;
  TrainLoopOptions options{.checkpoints = &folder};
  // The input is closed just after should_stop() was polled, so Next() notices it first.
  options.should_stop = [&] { return closed && asked_after_close++ > 0; };
  options.on_step = [&](const StepReport& report) {
    if (report.step == 2) input.Close(), closed = true;
  };
  ASSERT_OK_AND_ASSIGN(const TrainSummary summary,
                       TrainLoop(*backend, reader_, input, {.model = kModel}, options).Run());
  EXPECT_TRUE(summary.stopped);
  EXPECT_EQ(summary.step, 2u);
  EXPECT_THAT(folder.List(), IsOkAndHolds(SizeIs(1)));
}

// Fails after `batches` batches.
class FailingInput : public MemoryInput {
 public:
  explicit FailingInput(int batches) : MemoryInput(128, 16), left_(batches) {}
  absl::StatusOr<bool> Next(InputBatch& batch) override {
    if (left_-- == 0) return absl::UnavailableError("no server for 30 s");
    return MemoryInput::Next(batch);
  }

 private:
  int left_;
};

TEST_F(TrainLoopTest, WhatWasTrainedIsSavedWhenTheInputFails) {
  ASSERT_OK_AND_ASSIGN(const CheckpointFolder folder, CheckpointFolder::Open(folder_, 1));
  auto backend = MakeBackend();
  FailingInput input(3);
  TrainLoop loop(*backend, reader_, input, {.model = kModel}, {.checkpoints = &folder});
  EXPECT_THAT(loop.Run(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no server")));
  EXPECT_THAT(folder.List(), IsOkAndHolds(testing::ElementsAre(HasSubstr("step-000000003"))));
}

TEST_F(TrainLoopTest, DivergenceIsNotSaved) {
  ASSERT_OK_AND_ASSIGN(const CheckpointFolder folder, CheckpointFolder::Open(folder_, 1));
  auto backend = MakeBackend();
  TrainLoopOptions options{.checkpoints = &folder};
  options.on_step = [&](const StepReport&) {
    backend->state().parameters[3] = std::numeric_limits<float>::infinity();
  };
  EXPECT_FALSE(Train(*backend, options).ok());
  EXPECT_THAT(folder.List(), IsOkAndHolds(SizeIs(0)));
}

// The training diverges in the last step before a save, so no loss has shown it yet.
TEST_F(TrainLoopTest, WeightsThatNoStepCanGoOnFromAreNotSaved) {
  ASSERT_OK_AND_ASSIGN(const CheckpointFolder folder, CheckpointFolder::Open(folder_, 1));
  TrainLoopOptions options{.total_steps = 1, .checkpoints = &folder};
  auto good = MakeBackend();
  ASSERT_OK(Train(*good, options));
  options.schedule.peak = 1e38;
  size_t told = 0;
  options.on_divergence = [&](const Divergence& divergence) {
    ++told;
    EXPECT_EQ(divergence.step, 0u);
    EXPECT_EQ(divergence.batch.rows, 16u);
    EXPECT_EQ(divergence.predictions.size(), 16u);
    return std::string("; see over there");
  };
  auto bad = MakeBackend();
  EXPECT_THAT(Train(*bad, options),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       testing::ContainsRegex("after step 1: a weight of.*; see over there")));
  EXPECT_EQ(told, 1u);
  options.on_divergence = {};
  options.schedule.peak = 1e-3;
  options.on_step = [&](const StepReport&) { good->state().v[5] = INFINITY; };
  EXPECT_THAT(Train(*good, options), StatusIs(absl::StatusCode::kFailedPrecondition,
                                              HasSubstr("AdamW's moments are not finite")));
  EXPECT_THAT(folder.List(), IsOkAndHolds(testing::ElementsAre(HasSubstr("step-000000001"))));
}

// The best is saved first. The error must be reported only once.
TEST_F(TrainLoopTest, WhatNoStepCanGoOnFromIsToldOnceWhereAnEvaluationIsDue) {
  ASSERT_OK_AND_ASSIGN(const CheckpointFolder folder, CheckpointFolder::Open(folder_, 1));
  TrainLoopOptions options = WithHoldout();
  options.eval_every = 1;
  options.checkpoints = &folder;
  auto backend = MakeBackend();
  size_t told = 0;
  options.on_step = [&](const StepReport&) { backend->state().v[5] = INFINITY; };
  options.on_divergence = [&](const Divergence&) { return absl::StrCat("; told ", ++told); };
  EXPECT_THAT(Train(*backend, options),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("moments are not finite")));
  EXPECT_EQ(told, 1u);
  EXPECT_THAT(folder.List(), IsOkAndHolds(SizeIs(0)));
}

TEST_F(TrainLoopTest, DivergenceNamesTheRows) {
  auto backend = MakeBackend();
  backend->state().parameters[3] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(
      Train(*backend, {}),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               HasSubstr(
                   "training on the 16 rows from position 0: after step 0: the next step's loss")));
}

TEST_F(TrainLoopTest, EveryPhaseThatATrainingHasIsCharged) {
  auto backend = MakeBackend();
  const auto start = std::chrono::steady_clock::now();
  ASSERT_OK_AND_ASSIGN(const TrainSummary summary, Train(*backend, WithHoldout()));
  EXPECT_LE(summary.times.total(), std::chrono::steady_clock::now() - start);
  for (Phase phase : {Phase::kInput, Phase::kCompute, Phase::kOutput, Phase::kOther}) {
    EXPECT_GT(summary.times[phase].count(), 0) << PhaseName(phase);
  }
}

// Times are measured between reports, with the test's own clock. A step reports shortly before its
// end. On a busy machine the thread may pause in between, but seldom.
TEST_F(TrainLoopTest, PhasesOfMostStepsAddUpToTheirWallTime) {
  constexpr size_t kSteps = 60;
  auto backend = MakeBackend();
  StepRecorder recorder;
  std::vector<std::chrono::steady_clock::time_point> reported;
  TrainLoopOptions options{.recorder = &recorder};
  options.on_step = [&](const StepReport&) {
    reported.push_back(std::chrono::steady_clock::now());
  };
  MemoryInput input(16 * kSteps, 16);
  ASSERT_OK(TrainLoop(*backend, reader_, input, {.model = kModel}, options).Run().status());
  const std::vector<StepRecorder::Step> steps = recorder.Newest();
  ASSERT_THAT(steps, SizeIs(kSteps));
  size_t close = 0;
  for (size_t i = 1; i < kSteps; ++i) {
    const std::chrono::duration<double> wall = reported[i] - reported[i - 1];
    const std::chrono::duration<double> sum = steps[i].times.total();
    close += std::abs(sum / wall - 1) <= 0.02;
  }
  EXPECT_GE(close, kSteps * 3 / 4);
}

TEST_F(TrainLoopTest, TracesTheStepsAskedFor) {
  auto backend = MakeBackend(/*threads=*/2);
  Tracer tracer;
  StepRecorder recorder(&tracer);
  recorder.TraceSteps(3, 5);
  backend->set_tracer(&tracer);
  ASSERT_OK(Train(*backend, {.recorder = &recorder}));
  const std::string json = tracer.ToJson("test");
  for (const char* name : {"step 3", "step 4", "input", "compute", "forward and backward",
                           "attention", "linear backward by weight", "merge", "update"}) {
    EXPECT_THAT(json, HasSubstr(absl::StrCat("\"", name, "\""))) << name;
  }
  EXPECT_THAT(json, testing::Not(HasSubstr("step 5")));
  EXPECT_EQ(recorder.steps(), 8u);
}

TEST_F(TrainLoopTest, DivergenceIsReportedWithItsBatch) {
  auto backend = MakeBackend();
  backend->state().parameters[3] = std::numeric_limits<float>::quiet_NaN();
  TrainLoopOptions options;
  options.on_divergence = [](const Divergence& divergence) {
    EXPECT_EQ(divergence.step, 0u);
    EXPECT_EQ(divergence.batch.rows, 16u);
    EXPECT_EQ(divergence.predictions.size(), 16u);
    EXPECT_TRUE(std::isnan(divergence.predictions[0]));
    EXPECT_THAT(std::string(divergence.problem), HasSubstr("the next step's loss is"));
    return std::string("; see over there");
  };
  EXPECT_THAT(Train(*backend, options),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("; see over there")));
}

}  // namespace
}  // namespace penstock
