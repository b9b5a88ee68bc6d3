#include "trainer/loop/batch_pipeline.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/input/board_reader.h"
#include "trainer/input/testing/memory_input.h"

namespace penstock {
namespace {

using testing::ElementsAre;

using Clock = std::chrono::steady_clock;
constexpr std::chrono::microseconds kLaunchTakes(100);

// Records its calls. Has room for two groups of `launch` batches.
class RecordingBackend final : public Backend {
 public:
  explicit RecordingBackend(size_t launch) : launch_(launch) {}

  absl::Status Stage(const BatchRows& rows, const UpdateOptions& update, bool) override {
    calls.push_back(
        absl::StrCat("stage ", ++staged_, " of ", rows.rows, " at ", update.learning_rate));
    return absl::OkStatus();
  }
  // While this is true, time counts as the device's, else as the step's.
  bool IsBusy() override { return busy; }
  absl::Status Begin() override {
    const PhaseScope phase(recorder_, Phase::kLaunch);
    for (const auto start = Clock::now(); Clock::now() - start < kLaunchTakes;) {
    }
    calls.push_back(absl::StrCat("begin ", staged_ - begun_));
    begun_ = staged_;
    groups_.push_back(begun_);
    return absl::OkStatus();
  }
  void Unstage(size_t batches) override {
    calls.push_back(absl::StrCat("keep ", batches));
    staged_ = begun_ + batches;
  }
  bool RanksBeginAhead() const override { return ranks_begin_ahead; }
  absl::StatusOr<StepResult> Finish() override {
    EXPECT_LT(finished_, begun_);
    calls.push_back(absl::StrCat("finish ", ++finished_));
    if (finished_ == groups_.front()) groups_.pop_front();
    return StepResult{};
  }
  size_t room() const override { return groups_.size() == 2 ? 0 : launch_ - (staged_ - begun_); }

  absl::StatusOr<StepResult> Step(const BatchRows&, const UpdateOptions&) override {
    return absl::InternalError("not used");
  }
  absl::Status Predict(const BatchRows&, std::span<float>, size_t) override {
    return absl::OkStatus();
  }
  absl::Status SetState(TrainState) override { return absl::OkStatus(); }
  absl::StatusOr<const TrainState*> State() override { return &state_; }
  uint64_t steps() const override { return finished_; }
  void set_recorder(StepRecorder* recorder) override { recorder_ = recorder; }
  void set_tracer(Tracer*) override {}
  std::vector<MemoryUse> MemoryUses(InputFormat, size_t) override { return {}; }
  const ParameterTable& table() const override { return table_; }
  size_t shards() const override { return 1; }
  BackendDescription Describe() const override { return {}; }
  std::span<const float> predictions() const override { return {}; }
  std::span<const float> global_targets() const override { return {}; }

  std::vector<std::string> calls;
  bool busy = false;
  bool ranks_begin_ahead = false;

 private:
  const size_t launch_;
  std::deque<size_t> groups_;  // The last batch of each group in flight.
  StepRecorder* recorder_ = nullptr;
  size_t staged_ = 0, begun_ = 0, finished_ = 0;
  TrainState state_;
  ParameterTable table_ = ParameterTable::For({"small", 1, 16, 1, 16});
};

// Rank 0 of two ranks that always agree.
class Echo final : public Communicator {
 public:
  size_t rank() const override { return 0; }
  size_t size() const override { return 2; }
  absl::Status Exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override {
    for (const Incoming& incoming : in) {
      std::memcpy(incoming.bytes.data(), out[0].bytes.data(), incoming.bytes.size());
    }
    return absl::OkStatus();
  }
};

// Rank 0 of two; the other rank never has more than `most` batches. With `ahead`, that limit
// applies only when batches are begun ahead.
class Slower final : public Communicator {
 public:
  explicit Slower(uint64_t most, bool ahead = false) : most_(most), ahead_(ahead) {}
  size_t rank() const override { return 0; }
  size_t size() const override { return 2; }
  absl::Status Exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override {
    for (const Incoming& incoming : in) {
      uint64_t words[2];  // The beginning of a vote: position and number of batches.
      std::memcpy(words, out[0].bytes.data(), sizeof(words));
      if (!ahead_ || incoming.bytes.size() == sizeof(words)) words[1] = std::min(words[1], most_);
      std::memcpy(incoming.bytes.data(), out[0].bytes.data(), incoming.bytes.size());
      std::memcpy(incoming.bytes.data(), words, sizeof(words));
    }
    return absl::OkStatus();
  }

 private:
  const uint64_t most_;
  const bool ahead_;
};

// An input whose batches are ready when the test says so.
class PacedInput final : public Input {
 public:
  explicit PacedInput(size_t batches) : inner_(4 * batches, 4) {}
  absl::StatusOr<bool> Next(InputBatch& batch) override { return inner_.Next(batch); }
  bool Ready() const override { return ready; }
  bool ready = true;

 private:
  MemoryInput inner_;
};

class BatchPipelineTest : public testing::Test {
 protected:
  BatchPipelineTest() { recorder_.Start(1); }
  // Runs to the end. Returns the calls of the backend.
  std::vector<std::string> Run(size_t launch, PipelineOptions options, Communicator& ranks) {
    RecordingBackend backend(launch);
    backend.busy = busy_;
    backend.ranks_begin_ahead = ranks_begin_ahead_;
    backend.set_recorder(&recorder_);
    options.update = [](uint64_t steps, uint64_t) {
      return UpdateOptions{.learning_rate = static_cast<double>(steps)};
    };
    if (!options.is_due) options.is_due = [](uint64_t) { return false; };
    BatchPipeline pipeline(backend, reader_, input_, ranks, recorder_, options);
    uint64_t steps = 0;
    while (options.total_steps == 0 || steps < options.total_steps) {
      const absl::StatusOr<Agreed> agreed = pipeline.Advance(steps);
      EXPECT_OK(agreed.status());
      if (!agreed.ok() || agreed->intent != Intent::kGo) break;
      positions_.push_back(pipeline.current().batch.first_position);
      EXPECT_OK(pipeline.Finish().status());
      steps += pipeline.current().last;
    }
    return backend.calls;
  }

  bool busy_ = false, ranks_begin_ahead_ = false;
  StepRecorder recorder_;
  BoardReader reader_;
  PacedInput input_{3};
  SingleCommunicator alone_;
  std::vector<uint64_t> positions_;
};

TEST_F(BatchPipelineTest, TheNextBatchIsSentAndBegunWhileOneIsComputed) {
  EXPECT_THAT(Run(1, {}, alone_),
              ElementsAre("stage 1 of 4 at 0", "begin 1", "stage 2 of 4 at 1", "begin 1",
                          "finish 1", "stage 3 of 4 at 2", "begin 1", "finish 2", "finish 3"));
  EXPECT_THAT(positions_, ElementsAre(0, 4, 8));
}

TEST_F(BatchPipelineTest, NothingIsBegunBeforeWhatIsDue) {
  EXPECT_THAT(Run(1, {.is_due = [](uint64_t step) { return step == 2; }}, alone_),
              ElementsAre("stage 1 of 4 at 0", "begin 1", "stage 2 of 4 at 1", "begin 1",
                          "finish 1", "stage 3 of 4 at 2", "finish 2", "begin 1", "finish 3"));
}

TEST_F(BatchPipelineTest, NothingIsSentBeyondTheLastStep) {
  EXPECT_THAT(Run(1, {.total_steps = 1}, alone_),
              ElementsAre("stage 1 of 4 at 0", "begin 1", "finish 1"));
}

TEST_F(BatchPipelineTest, StepsAreBegunTogetherUpToWhatIsDue) {
  EXPECT_THAT(Run(2, {}, alone_),
              ElementsAre("stage 1 of 4 at 0", "stage 2 of 4 at 1", "begin 2", "stage 3 of 4 at 2",
                          "begin 1", "finish 1", "finish 2", "finish 3"));
}

TEST_F(BatchPipelineTest, WhatIsNotReadyIsNotWaitedForWhileABatchIsComputed) {
  input_.ready = false;
  EXPECT_THAT(Run(2, {}, alone_),
              ElementsAre("stage 1 of 4 at 0", "begin 1", "finish 1", "stage 2 of 4 at 1",
                          "begin 1", "finish 2", "stage 3 of 4 at 2", "begin 1", "finish 3"));
}

TEST_F(BatchPipelineTest, OneOfManyRanksSendsButDoesNotBeginBeforeAllAgree) {
  Echo two;
  EXPECT_THAT(Run(1, {}, two),
              ElementsAre("stage 1 of 4 at 0", "begin 1", "stage 2 of 4 at 1", "finish 1",
                          "begin 1", "stage 3 of 4 at 2", "finish 2", "begin 1", "finish 3"));
}

TEST_F(BatchPipelineTest, WhatWasSentAheadIsNotBegunAfterAStop) {
  Echo two;
  int asked = 0;
  EXPECT_THAT(Run(1, {.should_stop = [&] { return asked++ >= 2; }}, two),
              ElementsAre("stage 1 of 4 at 0", "begin 1", "stage 2 of 4 at 1", "finish 1"));
}

TEST_F(BatchPipelineTest, ManyRanksBeginTheNextBatchTogetherWhileOneIsComputed) {
  ranks_begin_ahead_ = true;
  Echo two;
  EXPECT_THAT(Run(1, {.is_due = [](uint64_t step) { return step == 2; }}, two),
              ElementsAre("stage 1 of 4 at 0", "begin 1", "stage 2 of 4 at 1", "begin 1",
                          "finish 1", "stage 3 of 4 at 2", "finish 2", "begin 1", "finish 3"));
}

TEST_F(BatchPipelineTest, NoRankBeginsABatchAheadThatAnotherDoesNotHaveYet) {
  ranks_begin_ahead_ = true;
  Slower other(0, /*ahead=*/true);
  EXPECT_THAT(Run(1, {}, other),
              ElementsAre("stage 1 of 4 at 0", "begin 1", "stage 2 of 4 at 1", "finish 1",
                          "begin 1", "stage 3 of 4 at 2", "finish 2", "begin 1", "finish 3"));
}

TEST_F(BatchPipelineTest, WhatAnotherRankDoesNotHaveYetIsSentAgainWhenThereIsRoom) {
  ranks_begin_ahead_ = true;
  Slower other(1);
  EXPECT_THAT(Run(2, {}, other),
              ElementsAre("stage 1 of 4 at 0", "stage 2 of 4 at 1", "keep 1", "begin 1",
                          "stage 2 of 4 at 1", "stage 3 of 4 at 2", "keep 1", "begin 1", "finish 1",
                          "stage 3 of 4 at 2", "begin 1", "finish 2", "finish 3"));
  EXPECT_THAT(positions_, ElementsAre(0, 4, 8));
}

TEST_F(BatchPipelineTest, NoRankBeginsABatchAheadOfItsStop) {
  ranks_begin_ahead_ = true;
  Echo two;
  int asked = 0;
  EXPECT_THAT(Run(1, {.should_stop = [&] { return asked++ >= 2; }}, two),
              ElementsAre("stage 1 of 4 at 0", "begin 1", "stage 2 of 4 at 1", "finish 1"));
}

TEST_F(BatchPipelineTest, WhatIsDoneWhileTheDeviceComputesIsComputation) {
  busy_ = true;
  Run(1, {}, alone_);
  EXPECT_GE(recorder_.total()[Phase::kCompute], 2 * kLaunchTakes);
  EXPECT_GE(recorder_.total()[Phase::kLaunch], kLaunchTakes);  // The first batch waits for nothing.
}

TEST_F(BatchPipelineTest, WhatADeviceThatIsDoneWaitsForIsCharged) {
  Run(1, {}, alone_);
  EXPECT_GE(recorder_.total()[Phase::kLaunch], 3 * kLaunchTakes);
  EXPECT_EQ(recorder_.total()[Phase::kCompute].count(), 0);
}

TEST_F(BatchPipelineTest, BatchesOfAStepShareItsNumber) {
  EXPECT_THAT(Run(1, {.accumulate = 2}, alone_),
              ElementsAre("stage 1 of 4 at 0", "begin 1", "stage 2 of 4 at 0", "begin 1",
                          "finish 1", "stage 3 of 4 at 1", "begin 1", "finish 2", "finish 3"));
}

}  // namespace
}  // namespace penstock
