// Batches that are sent and begun while others are computed, on the emulated device.
#include <unistd.h>

#include <filesystem>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "trainer/backend/device/device_backend.h"
#include "trainer/backend/device/testing/checking_device.h"
#include "trainer/backend/device/testing/emulated_device.h"
#include "trainer/backend/device/testing/paced_device.h"
#include "trainer/backend/testing/boards.h"
#include "trainer/backend/testing/reference_model.h"
#include "trainer/input/board_reader.h"
#include "trainer/input/testing/memory_input.h"
#include "trainer/loop/train_loop.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;

const ModelConfig kAheadModel = SmallModel(/*dropout=*/0.2);
constexpr size_t kAheadRows = 2;
constexpr size_t kAheadSteps = 6;

std::unique_ptr<DeviceBackend> MakeAheadBackend(DeviceBackendOptions options, DeviceLog& log,
                                                std::optional<uint64_t> seed = std::nullopt,
                                                const ModelConfig& model = kAheadModel) {
  options.shards = 2;
  options.global_rows = kAheadRows;
  options.bf16 = true;
  auto device = std::make_unique<EmulatedDevice>(EmulatedDeviceOptions{.seed = seed});
  auto backend = DeviceBackend::Create(model, options,
                                       std::make_unique<CheckingDevice>(std::move(device), log))
                     .value();
  EXPECT_OK(backend->SetState(InitialState(backend->table())));
  return backend;
}

UpdateOptions UpdateOf(size_t step) {
  return {.learning_rate = 1e-3 * static_cast<double>(step + 1),
          .clip_norm = 0.1,
          .random_key = 1000 + step};
}

struct AheadTraining {
  DeviceLog log;
  std::vector<double> losses;
  std::vector<std::vector<float>> predictions;
  TrainState state;

  void Keep(DeviceBackend& backend, const absl::StatusOr<StepResult>& result) {
    ASSERT_OK(result.status());
    losses.push_back(result->loss);
    predictions.emplace_back(backend.predictions().begin(), backend.predictions().end());
  }
};

void TrainOneByOne(AheadTraining& run) {
  auto backend = MakeAheadBackend({}, run.log);
  for (size_t step = 0; step < kAheadSteps; ++step) {
    run.Keep(*backend, backend->Step(RandomBoards(kAheadRows, step).rows(), UpdateOf(step)));
  }
  run.state = **backend->State();
}

// Stages and begins as many batches as there is room for before it finishes a step. Rows live only
// as long as the call that stages them.
void TrainAhead(size_t steps_per_launch, bool graphs, std::optional<uint64_t> seed,
                AheadTraining& run) {
  auto backend =
      MakeAheadBackend({.graphs = graphs, .steps_per_launch = steps_per_launch}, run.log, seed);
  size_t staged = 0, begun = 0;
  for (size_t finished = 0; finished < kAheadSteps; ++finished) {
    while (staged < kAheadSteps && backend->room() > 0) {
      const RandomBoards boards(kAheadRows, staged);
      ASSERT_OK(backend->Stage(boards.rows(), UpdateOf(staged), /*last=*/true));
      ++staged;
      if (backend->room() > 0 && staged < kAheadSteps) continue;
      ASSERT_OK(backend->Begin());
      begun = staged;
    }
    ASSERT_LT(finished, begun);
    run.Keep(*backend, backend->Finish());
  }
  run.state = **backend->State();
}

struct AheadCase {
  size_t steps_per_launch;
  bool graphs;
  std::optional<uint64_t> seed;
};

class DeviceAheadTest : public testing::TestWithParam<AheadCase> {};

INSTANTIATE_TEST_SUITE_P(Cases, DeviceAheadTest,
                         testing::Values(AheadCase{1, true, std::nullopt}, AheadCase{1, true, 1},
                                         AheadCase{1, true, 2}, AheadCase{1, false, 3},
                                         AheadCase{2, true, std::nullopt}, AheadCase{2, true, 4},
                                         AheadCase{3, true, std::nullopt}, AheadCase{3, false, 5}));

TEST_P(DeviceAheadTest, GivesTheBitsOfOneStepAfterTheOther) {
  const AheadCase& param = GetParam();
  AheadTraining one, ahead;
  TrainOneByOne(one);
  TrainAhead(param.steps_per_launch, param.graphs, param.seed, ahead);
  EXPECT_THAT(ahead.log.problems, IsEmpty());
  EXPECT_EQ(ahead.losses, one.losses);
  EXPECT_EQ(ahead.predictions, one.predictions);
  EXPECT_EQ(ahead.state.parameters, one.state.parameters);
  EXPECT_EQ(ahead.state.v, one.state.v);
  EXPECT_EQ(ahead.state.step, kAheadSteps);
}

TEST(DevicePipelineTest, AGroupOfStepsIsOneGraph) {
  AheadTraining ahead;
  TrainAhead(/*steps_per_launch=*/2, /*graphs=*/true, std::nullopt, ahead);
  EXPECT_EQ(ahead.log.launched_graphs, 1u);  // The third group finds its slots' graph captured.
}

TEST(DevicePipelineTest, TheNextBatchIsSentBeforeTheStepIsOver) {
  DeviceLog log;
  auto backend = MakeAheadBackend({}, log);
  const RandomBoards boards(kAheadRows);
  ASSERT_OK(backend->Stage(boards.rows(), {}, true));
  ASSERT_OK(backend->Begin());
  EXPECT_EQ(backend->room(), 1u);
  ASSERT_OK(backend->Stage(boards.rows(), {}, true));
  EXPECT_EQ(backend->room(), 0u);
  EXPECT_THAT(backend->Stage(boards.rows(), {}, true),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("no slot is free")));
  EXPECT_THAT(backend->State(), StatusIs(absl::StatusCode::kInternal, HasSubstr("in progress")));
  ASSERT_OK(backend->Finish().status());
  EXPECT_OK(backend->State().status());  // The second batch was sent, but not begun.
  EXPECT_EQ(backend->steps(), 1u);
}

TEST(DevicePipelineTest, IsBusyUntilTheOldestBatchIsComputed) {
  bool stalls = true;
  auto backend = DeviceBackend::Create(
      kAheadModel, {.shards = 2, .global_rows = kAheadRows, .bf16 = true},
      std::make_unique<StallingDevice>(std::make_unique<EmulatedDevice>(), [&] { return stalls; }));
  ASSERT_OK(backend.status());
  const TrainState state((*backend)->table().arena_size());
  ASSERT_OK((*backend)->SetState(state));
  const RandomBoards boards(kAheadRows);
  ASSERT_OK((*backend)->Stage(boards.rows(), {}, true));
  EXPECT_FALSE((*backend)->IsBusy());
  ASSERT_OK((*backend)->Begin());
  ASSERT_OK((*backend)->Stage(boards.rows(), {}, true));
  EXPECT_TRUE((*backend)->IsBusy());
  stalls = false;
  EXPECT_FALSE((*backend)->IsBusy());
  ASSERT_OK((*backend)->Finish().status());
  EXPECT_FALSE((*backend)->IsBusy());
}

// Boards whose planes are in memory from the backend's allocator.
class PinnedBoards {
 public:
  PinnedBoards(DeviceBackend& backend, const RandomBoards& boards)
      : allocator_(*backend.slot_allocator()), rows_(boards.rows()), bytes_(rows_.rows * 194) {
    memory_ = allocator_.Allocate(bytes_).value();
    std::copy_n(rows_.input, bytes_, memory_);
    rows_.input = memory_;
  }
  ~PinnedBoards() { allocator_.Free(memory_, bytes_); }
  const BatchRows& rows() const { return rows_; }
  uint8_t* memory() const { return memory_; }

 private:
  SlotAllocator& allocator_;
  BatchRows rows_;
  const size_t bytes_;
  uint8_t* memory_ = nullptr;
};

// Number of copies to the device that a step with these rows queues.
size_t CopiesOf(DeviceBackend& backend, DeviceLog& log, const BatchRows& rows) {
  log.ops.clear();
  EXPECT_OK(backend.Stage(rows, UpdateOf(0), true));
  const size_t copies = log.ops.size();
  EXPECT_OK(backend.Begin());
  EXPECT_OK(backend.Finish().status());
  return copies;
}

TEST(DevicePipelineTest, FullBatchesInLockedMemoryAreSentFromThere) {
  const RandomBoards boards(kAheadRows);
  AheadTraining from_slots, copied;
  auto direct = MakeAheadBackend({}, from_slots.log), staged = MakeAheadBackend({}, copied.log);
  const PinnedBoards pinned(*direct, boards);
  EXPECT_EQ(CopiesOf(*direct, from_slots.log, pinned.rows()), 2u);  // The planes, and the rest.
  EXPECT_EQ(CopiesOf(*staged, copied.log, boards.rows()), 1u);
  // The short batch is padded.
  EXPECT_EQ(CopiesOf(*direct, from_slots.log, pinned.rows().Slice(0, 1)), 1u);
  ASSERT_OK(staged->Step(boards.rows().Slice(0, 1), UpdateOf(0)).status());
  EXPECT_EQ(direct->ReadState()->parameters, staged->ReadState()->parameters);
  EXPECT_THAT(from_slots.log.problems, IsEmpty());
  EXPECT_THAT(direct->MemoryUses(kPackedBoards, kAheadRows)[1].detail,
              HasSubstr("full batches are sent from the loader's slots"));
}

TEST(DevicePipelineTest, ASlotThatIsGivenBackTooEarlyIsFound) {
  DeviceLog log;
  auto backend = MakeAheadBackend({}, log);
  const RandomBoards boards(kAheadRows);
  const PinnedBoards pinned(*backend, boards);
  ASSERT_OK(backend->Stage(pinned.rows(), {}, true));
  pinned.memory()[100] ^= 1;
  ASSERT_OK(backend->Begin());
  ASSERT_OK(backend->Finish().status());
  EXPECT_THAT(log.problems, ElementsAre(HasSubstr("the host's memory changed")));
}

TEST(DevicePipelineTest, SlotsThatCannotBeLockedAreCopied) {
  auto backend = DeviceBackend::Create(
      kAheadModel, {.shards = 2, .global_rows = kAheadRows, .bf16 = true},
      std::make_unique<EmulatedDevice>(EmulatedDeviceOptions{.most_host_bytes = 1 << 20}));
  ASSERT_OK(backend.status());
  SlotAllocator& slots = *(*backend)->slot_allocator();
  ASSERT_OK_AND_ASSIGN(uint8_t* const memory, slots.Allocate(2 << 20));
  memory[(2 << 20) - 1] = 1;
  EXPECT_THAT((*backend)->MemoryUses(kPackedBoards, kAheadRows)[1].detail,
              HasSubstr("could not be locked (2097152 bytes"));
  slots.Free(memory, 2 << 20);
}

TEST(DevicePipelineTest, StepsBehindOneThatDivergedChangeNothing) {
  DeviceLog log;
  auto backend = MakeAheadBackend({.steps_per_launch = 3}, log);
  for (size_t step = 0; step < 3; ++step) {
    RandomBoards boards(kAheadRows, step);
    if (step == 1) boards.scores[0] = std::numeric_limits<float>::quiet_NaN();
    ASSERT_OK(backend->Stage(boards.rows(), UpdateOf(step), true));
  }
  ASSERT_OK(backend->Begin());
  ASSERT_OK(backend->Finish().status());
  EXPECT_THAT(backend->Finish(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("diverged")));
  EXPECT_EQ(backend->steps(), 1u);
  AheadTraining one;
  auto alone = MakeAheadBackend({}, one.log);
  ASSERT_OK(alone->Step(RandomBoards(kAheadRows, 0).rows(), UpdateOf(0)).status());
  EXPECT_EQ(backend->ReadState()->parameters, alone->ReadState()->parameters);
  // After SetState(), training works again.
  ASSERT_OK(backend->SetState(**alone->State()));
  EXPECT_OK(backend->Step(RandomBoards(kAheadRows, 1).rows(), UpdateOf(1)).status());
}

TEST(DevicePipelineTest, AccumulatedBatchesHaveTheGradientOfOneOfAllTheirRows) {
  const RandomBoards boards(kAheadRows);
  const ModelConfig model = SmallModel();  // Dropout draws new values for each batch.
  DeviceLog log;
  auto whole = MakeAheadBackend({}, log, {}, model), parts = MakeAheadBackend({}, log, {}, model);
  ASSERT_OK_AND_ASSIGN(const StepResult all, whole->Step(boards.rows(), {}));
  const UpdateOptions update{.batches = 2};
  for (int repetition = 0; repetition < 2; ++repetition) {  // The second starts from zero.
    ASSERT_OK_AND_ASSIGN(const double a, parts->Accumulate(boards.rows().Slice(0, 1), update));
    ASSERT_OK_AND_ASSIGN(const StepResult b, parts->Step(boards.rows().Slice(1, 1), update));
    if (repetition == 0) {
      EXPECT_NEAR((a + b.loss) / 2, all.loss, 1e-6);
      EXPECT_NEAR(b.gradient_norm, all.gradient_norm, 1e-2 * all.gradient_norm);
    } else {
      EXPECT_LT(b.gradient_norm, 1.5 * all.gradient_norm);
    }
  }
  EXPECT_EQ(parts->steps(), 2u);
  EXPECT_THAT(log.problems, IsEmpty());
}

TEST(DevicePipelineTest, SeveralStepsALaunchAreNotForRanksThatShareAGpu) {
  class TwoRanks final : public Communicator {
   public:
    size_t rank() const override { return 0; }
    size_t size() const override { return 2; }
    absl::Status Exchange(std::span<const Outgoing>, std::span<const Incoming>) override {
      return absl::UnavailableError("nobody is there");
    }
  } ranks;
  EXPECT_THAT(
      DeviceBackend::Create(kAheadModel,
                            {.shards = 2, .global_rows = 2, .steps_per_launch = 2, .ranks = &ranks},
                            std::make_unique<EmulatedDevice>()),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--steps-per-launch 2")));
}

// A whole training, with evaluations and checkpoints between steps.
class DeviceTrainingTest : public testing::Test {
 protected:
  struct Result {
    AheadTraining run;
    TrainSummary summary;
    std::vector<double> losses;
    std::vector<std::pair<uint64_t, double>> evaluations;
    std::vector<std::string> cursors;  // Cursors of the checkpoints.
  };
  ~DeviceTrainingTest() override { std::filesystem::remove_all(Folder()); }
  static std::string Folder() {
    return absl::StrCat(testing::TempDir(), "/device_training_test.", getpid(), ".",
                        testing::UnitTest::GetInstance()->current_test_info()->name());
  }
  void Train(size_t steps_per_launch, TrainLoopOptions options, Result& result) {
    std::filesystem::remove_all(Folder());
    ASSERT_OK_AND_ASSIGN(const CheckpointFolder folder, CheckpointFolder::Open(Folder(), 100));
    auto backend = MakeAheadBackend({.steps_per_launch = steps_per_launch}, result.run.log);
    options.schedule = {.peak = 1e-2, .warmup_steps = 4};
    options.checkpoints = &folder;
    options.on_step = [&](const StepReport& step) { result.losses.push_back(step.loss); };
    options.on_evaluation = [&](uint64_t step, const Evaluation& evaluation) {
      result.evaluations.push_back({step, evaluation.loss});
    };
    options.open_holdout = []() -> absl::StatusOr<std::unique_ptr<Input>> {
      return std::make_unique<MemoryInput>(/*records=*/3, /*batch_size=*/kAheadRows, /*seed=*/9);
    };
    MemoryInput input(/*records=*/16 * kAheadRows, /*batch_size=*/kAheadRows);
    BoardReader reader;
    auto summary = TrainLoop(*backend, reader, input, {.model = kAheadModel}, options).Run();
    ASSERT_OK(summary.status());
    result.summary = *std::move(summary);
    result.run.state = **backend->State();
    ASSERT_OK_AND_ASSIGN(const std::vector<std::string> files, folder.List());
    for (const std::string& file : files) {
      result.cursors.push_back(LoadCheckpoint(file, kAheadModel).value().info.cursor);
    }
  }
};

TEST_F(DeviceTrainingTest, SeveralStepsALaunchChangeNeitherBitsNorWhatHappensBetweenSteps) {
  const TrainLoopOptions options{
      .total_steps = 11, .digest = true, .checkpoint_every = 5, .eval_every = 4};
  Result one, three;
  Train(1, options, one);
  Train(3, options, three);
  ASSERT_EQ(one.losses.size(), 11u);
  EXPECT_EQ(three.losses, one.losses);
  EXPECT_EQ(three.evaluations, one.evaluations);
  EXPECT_EQ(three.evaluations.size(), 3u);
  // The first best evaluation, at step 4, also saves a checkpoint to resume from.
  EXPECT_THAT(one.cursors, ElementsAre("8", "10", "20", "22"));
  EXPECT_EQ(three.cursors, one.cursors);
  EXPECT_EQ(three.run.state.parameters, one.run.state.parameters);
  EXPECT_EQ(three.summary.digest, one.summary.digest);
  EXPECT_THAT(one.run.log.problems, IsEmpty());
  EXPECT_THAT(three.run.log.problems, IsEmpty());
}

TEST_F(DeviceTrainingTest, AStopFinishesWhatWasBegun) {
  int asked = 0;
  Result stopped;
  Train(3, {.should_stop = [&] { return ++asked > 4; }}, stopped);
  EXPECT_TRUE(stopped.summary.stopped);
  // Three batches were begun when the stop came. A fourth had been read; the resumed training reads
  // it again.
  EXPECT_EQ(stopped.summary.step, 3u);
  EXPECT_THAT(stopped.cursors, ElementsAre("6"));
}

TEST_F(DeviceTrainingTest, AccumulatesBatchesHoweverManyAreLaunched) {
  Result one, three;
  Train(1, {.total_steps = 3, .accumulate = 2}, one);
  Train(3, {.total_steps = 3, .accumulate = 2}, three);
  EXPECT_EQ(one.losses.size(), 3u);
  EXPECT_EQ(one.summary.cursor, "12");
  EXPECT_EQ(one.summary.rows, 6 * kAheadRows);
  EXPECT_EQ(three.run.state.parameters, one.run.state.parameters);
  EXPECT_THAT(one.run.log.problems, IsEmpty());
  EXPECT_THAT(three.run.log.problems, IsEmpty());
}

}  // namespace
}  // namespace penstock
