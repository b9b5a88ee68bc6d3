// When a training evaluates, what it keeps of the results, and what a stop during one leaves
// behind.
#include <algorithm>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/loop/testing/train_loop_fixture.h"

namespace penstock {
namespace {

using testing::SizeIs;

TEST_F(TrainLoopTest, SavesAndEvaluatesOnSchedule) {
  ASSERT_OK_AND_ASSIGN(const CheckpointFolder folder, CheckpointFolder::Open(folder_, 10));
  auto backend = MakeBackend();
  std::vector<uint64_t> evaluated;
  TrainLoopOptions options = WithHoldout({.checkpoint_every = 3, .eval_every = 4});
  options.checkpoints = &folder;
  options.on_evaluation = [&](uint64_t step, const Evaluation&) { evaluated.push_back(step); };
  ASSERT_OK(Train(*backend, options));
  EXPECT_THAT(folder.List(), IsOkAndHolds(SizeIs(3)));  // The checkpoints of steps 3, 6 and 8.
  EXPECT_THAT(evaluated, testing::ElementsAre(4, 8));
}

TEST_F(TrainLoopTest, KeepsTheBestAndStopsWhenNoEvaluationIsBetter) {
  ASSERT_OK_AND_ASSIGN(const CheckpointFolder folder, CheckpointFolder::Open(folder_, 1));
  auto backend = MakeBackend();
  std::vector<std::pair<uint64_t, double>> losses;
  // A learning rate at which training soon makes the model worse.
  TrainLoopOptions options = WithHoldout({.schedule = {.peak = 1.0}, .eval_every = 1});
  options.early_stop = 2;
  options.checkpoints = &folder;
  options.on_evaluation = [&](uint64_t step, const Evaluation& evaluation) {
    losses.emplace_back(step, evaluation.loss);
  };
  ASSERT_OK_AND_ASSIGN(const TrainSummary summary, Train(*backend, options));
  ASSERT_TRUE(summary.early_stopped);
  ASSERT_GE(losses.size(), 3u);
  const auto best = *std::min_element(losses.begin(), losses.end(),
                                      [](auto& a, auto& b) { return a.second < b.second; });
  EXPECT_EQ(summary.best, (BestEvaluation{best.first, best.second, 2}));
  EXPECT_EQ(summary.step, best.first + 2);
  ASSERT_OK_AND_ASSIGN(const Checkpoint kept, LoadCheckpoint(folder.best_path(), kModel));
  EXPECT_EQ(kept.info.step, best.first);
  // The last checkpoint records that the training is over.
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> files, folder.List());
  ASSERT_OK_AND_ASSIGN(const Checkpoint last, LoadCheckpoint(files.back(), kModel));
  ASSERT_OK_AND_ASSIGN(const TrainSummary again, Train(*backend, options, last.info));
  EXPECT_EQ(again.rows, 0u);
}

// With a learning rate of zero, the weights and the loss stay the same.
TEST_F(TrainLoopTest, AnEvaluationThatIsAsGoodIsNoBetter) {
  auto backend = MakeBackend();
  TrainLoopOptions options = WithHoldout({.total_steps = 4, .eval_every = 1});
  options.schedule.peak = 0;
  ASSERT_OK_AND_ASSIGN(const TrainSummary summary, Train(*backend, options));
  ASSERT_TRUE(summary.best.has_value());
  EXPECT_EQ(summary.best->step, 1u);
  EXPECT_EQ(summary.best->evaluations_since, 3u);
}

TEST_F(TrainLoopTest, AnEvaluationThatIsNotFiniteEndsItAndSavesNothing) {
  ASSERT_OK_AND_ASSIGN(const CheckpointFolder folder, CheckpointFolder::Open(folder_, 1));
  auto backend = MakeBackend();
  TrainLoopOptions options = WithHoldout({.schedule = {.peak = 1e18}, .eval_every = 1});
  options.checkpoints = &folder;
  EXPECT_THAT(Train(*backend, options),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       testing::ContainsRegex("after step 1: the held-out loss is .*nan")));
  EXPECT_THAT(folder.List(), IsOkAndHolds(SizeIs(0)));
}

// An input that is closed while Next() waits.
class ClosedInput : public Input {
 public:
  explicit ClosedInput(bool& stop) : stop_(stop) {}
  absl::StatusOr<bool> Next(InputBatch&) override {
    stop_ = true;
    return absl::CancelledError("closed");
  }

 private:
  bool& stop_;
};

TEST_F(TrainLoopTest, AStopWhileTheEvaluationWaitsEndsTheRunAndSavesIt) {
  ASSERT_OK_AND_ASSIGN(const CheckpointFolder folder, CheckpointFolder::Open(folder_, 1));
  auto backend = MakeBackend();
  bool stop = false;
  TrainLoopOptions options{.eval_every = 3, .checkpoints = &folder};
  options.open_holdout = [&]() -> absl::StatusOr<std::unique_ptr<Input>> {
    return std::make_unique<ClosedInput>(stop);
  };
  options.should_stop = [&] { return stop; };
  ASSERT_OK_AND_ASSIGN(const TrainSummary summary, Train(*backend, options));
  EXPECT_TRUE(summary.stopped);
  EXPECT_EQ(summary.step, 3u);
  EXPECT_THAT(folder.List(), IsOkAndHolds(SizeIs(1)));
}

class StoppedEvaluationTest : public TrainLoopTest {
 protected:
  // Evaluates after steps 2 and 4.
  TrainLoopOptions Options() {
    TrainLoopOptions options = WithHoldout({.total_steps = 4, .eval_every = 2, .early_stop = 2});
    options.checkpoints = &checkpoints_;
    options.on_evaluation = [&](uint64_t step, const Evaluation& evaluation) {
      losses_.emplace_back(step, evaluation.loss);
    };
    return options;
  }
  // Stops during the `nth` evaluation.
  void StopDuringEvaluation(int nth) {
    auto backend = MakeBackend();
    TrainLoopOptions options = Options();
    int evaluations = 0;
    options.open_holdout = [&, open = options.open_holdout] { return ++evaluations, open(); };
    options.should_stop = [&] { return evaluations == nth; };
    ASSERT_OK_AND_ASSIGN(const TrainSummary summary, Train(*backend, options));
    EXPECT_TRUE(summary.stopped);
    EXPECT_EQ(summary.evaluation.has_value(), nth > 1);
  }
  absl::StatusOr<TrainSummary> Resume() {
    const std::string path = checkpoints_.List().value().back();
    Checkpoint checkpoint = LoadCheckpoint(path, kModel).value();
    auto backend = MakeBackend();
    backend->state() = std::move(checkpoint.state);
    return Train(*backend, Options(), checkpoint.info);
  }

  CheckpointFolder checkpoints_ = CheckpointFolder::Open(folder_, 1).value();
  std::vector<std::pair<uint64_t, double>> losses_;
};

TEST_F(StoppedEvaluationTest, IsMadeBeforeTheNextStep) {
  auto backend = MakeBackend();
  TrainLoopOptions options = Options();
  options.checkpoints = nullptr;
  ASSERT_OK_AND_ASSIGN(const TrainSummary whole, Train(*backend, options));
  const auto expected = std::exchange(losses_, {});
  ASSERT_THAT(expected, SizeIs(2));

  StopDuringEvaluation(1);
  ASSERT_OK_AND_ASSIGN(const TrainSummary resumed, Resume());
  EXPECT_EQ(resumed.first_step, 2u);
  EXPECT_EQ(losses_, expected);
  EXPECT_EQ(resumed.best, whole.best);
}

TEST_F(StoppedEvaluationTest, IsNotMadeAgainOnceItWasJudged) {
  auto backend = MakeBackend();
  TrainLoopOptions options = Options();
  bool stop = false;
  options.on_evaluation = [&](uint64_t, const Evaluation&) { stop = true; };
  options.should_stop = [&] { return stop; };
  ASSERT_OK(Train(*backend, options));
  ASSERT_OK_AND_ASSIGN(const TrainSummary resumed, Resume());
  EXPECT_EQ(resumed.first_step, 2u);
  ASSERT_THAT(losses_, SizeIs(1));
  EXPECT_EQ(losses_[0].first, 4u);
}

TEST_F(StoppedEvaluationTest, OfTheLastStepIsJudgedOnceThatIsMade) {
  StopDuringEvaluation(2);
  ASSERT_OK_AND_ASSIGN(const TrainSummary resumed, Resume());
  EXPECT_EQ(resumed.first_step, 4u);
  ASSERT_THAT(losses_, SizeIs(2));
  ASSERT_LT(losses_[1].second, losses_[0].second);
  EXPECT_EQ(resumed.best, (BestEvaluation{4, losses_[1].second, 0}));
  ASSERT_OK_AND_ASSIGN(const Checkpoint best, LoadCheckpoint(checkpoints_.best_path(), kModel));
  EXPECT_EQ(best.info.step, 4u);
  // Weights that were evaluated once are not counted again.
  ASSERT_OK_AND_ASSIGN(const TrainSummary again, Resume());
  EXPECT_EQ(again.best, resumed.best);
}

}  // namespace
}  // namespace penstock
