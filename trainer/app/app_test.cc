#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/bytes_of.h"
#include "base/flags/command_line.h"
#include "base/flags/command_page.h"
#include "base/flags/help_text.h"
#include "base/flags/number_flags.h"
#include "base/process/stop_signals.h"
#include "base/text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "records/format/tfrecord.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"
#include "trainer/app/event_file.h"
#include "trainer/app/options.h"
#include "trainer/app/progress_line.h"
#include "trainer/app/report.h"
#include "trainer/app/restore.h"
#include "trainer/app/signal_watcher.h"

namespace penstock {
namespace {

using testing::HasSubstr;

// Returns the help `text` with its line breaks and indents replaced by single spaces.
std::string OnOneLine(absl::string_view text) {
  return absl::StrJoin(absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty()), " ");
}

class OptionsTest : public testing::Test {
 protected:
  OptionsTest() { AddOptions(app_, options_); }
  CLI::App app_;
  TrainerOptions options_;
};

TEST_F(OptionsTest, HelpShowsEveryDefault) {
  const std::string help = OnOneLine(HelpText(DescribeCommand(app_), 100));
  for (const CLI::Option* option : app_.get_options()) {
    if (option->get_items_expected() > 0 && !option->get_default_str().empty()) {
      EXPECT_THAT(help, HasSubstr("default: " + option->get_default_str())) << option->get_name();
    }
  }
  EXPECT_THAT(help, HasSubstr("--global-batch-size N "));
  EXPECT_THAT(help, HasSubstr("default: 256"));
}

TEST_F(OptionsTest, EveryOptionHasAMeaning) {
  for (const OptionGroup& group : DescribeCommand(app_).groups) {
    for (const OptionRow& row : group.options) {
      EXPECT_FALSE(row.description.empty()) << row.names.back();
    }
  }
}

TEST_F(OptionsTest, NegativeCountsAreRefused) {
  for (const char* argument : {"--steps=-1", "--global-batch-size=-8", "--threads=-2",
                               "--keep-checkpoints=-1", "--seed=-7", "--epochs=-1", "--lr=nan"}) {
    CLI::App app;
    TrainerOptions options;
    AddOptions(app, options);
    const char* argv[] = {"penstock-train", argument};
    EXPECT_EQ(ParseCommandLine(app, "penstock-train", 2, argv), kUsageExitCode) << argument;
  }
}

TEST_F(OptionsTest, ARateThatIsNotPositiveIsToldSoWhateverItIs) {
  for (const char* argument : {"--lr=-1", "--lr=0", "--lr=nan"}) {
    try {
      app_.parse(argument);
      ADD_FAILURE() << argument;
    } catch (const CLI::ValidationError& error) {
      EXPECT_THAT(error.what(), HasSubstr("is not a positive number")) << argument;
    }
  }
}

TEST_F(OptionsTest, APrintedConfigReadsBackTheSame) {
  app_.parse("--lr 0.5 --no-shuffle --model large --steps 500 --image-std 0.5,0.25,1");
  const std::string config = app_.config_to_str(true, false);
  const TempFolder folder;
  TrainerOptions again;
  CLI::App app;
  AddOptions(app, again);
  CheckNumbers(app);  // The check must accept the defaults.
  app.parse("--config " + folder.Write("options.ini", config));
  EXPECT_EQ(again.learning_rate, 0.5);
  EXPECT_TRUE(again.source.no_shuffle);
  EXPECT_EQ(again.EpochLimit(), 0u);
  EXPECT_EQ(again.model, "large");
  EXPECT_EQ(again.image.deviation, "0.5,0.25,1");
}

TEST_F(OptionsTest, OutputsOfOneNameAreRefused) {
  app_.parse("--manifest m --json x --events x");
  EXPECT_THAT(options_.Validate(), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("--json and --events both name x")));
}

TEST_F(OptionsTest, ABatchThatShardsDoNotDivideNamesItsNeighbours) {
  app_.parse("--manifest m --global-batch-size 100");
  EXPECT_THAT(options_.Validate(), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("the nearest are 96 and 104")));
}

TEST_F(OptionsTest, AModelOfImagesHasItsOwnClassesAndDropoutUnlessToldOthers) {
  app_.parse("--manifest m --model vit");
  ASSERT_OK_AND_ASSIGN(const ModelConfig own, options_.Model());
  EXPECT_EQ(own, ModelConfig::Named("vit").value());
  app_.parse(
      "--manifest m --model vit --classes 10 --dropout 0 --head-dropout 0.25 "
      "--image-mean 0.5,0.5,0.5 --image-std 0.5,0.25,1");
  ASSERT_OK_AND_ASSIGN(const ModelConfig told, options_.Model());
  EXPECT_EQ(told.classes, 10u);
  EXPECT_EQ(told.dropout, 0);
  EXPECT_EQ(told.head_dropout, 0.25);
  EXPECT_EQ(told.pixels, (PixelStatistics{.mean = {0.5, 0.5, 0.5}, .deviation = {0.5, 0.25, 1}}));
}

TEST_F(OptionsTest, PixelsAreNormalisedByNumbersOrAutomatically) {
  const PixelStatistics found = {.mean = {0.1, 0.2, 0.3}, .deviation = {0.4, 0.5, 0.6}};
  const PixelStatistics told = {.mean = {0, 0, 0}, .deviation = {1, 1, 1}};
  for (const bool mean : {false, true}) {
    for (const bool deviation : {false, true}) {
      app_.parse(absl::StrCat("--manifest m --model vit --image-mean ", mean ? "auto" : "0,0,0",
                              " --image-std ", deviation ? "auto" : "1,1,1"));
      EXPECT_EQ(options_.image.auto_pixels(), mean || deviation);
      ASSERT_OK_AND_ASSIGN(ModelConfig model, options_.Model());
      options_.image.SetAutoPixels(found, model);
      EXPECT_EQ(model.pixels.mean, (mean ? found : told).mean);
      EXPECT_EQ(model.pixels.deviation, (deviation ? found : told).deviation);
    }
  }
}

TEST_F(OptionsTest, ImpossibleModelsAreRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"--model tiny --classes 10", "--classes is for image models, and --model tiny reads boards"},
      {"--model vit --classes 1", "1 classes"},
      {"--model vit --classes many", "\"many\" is neither auto nor a positive number"},
      {"--model vit --classes 0", "\"0\" is neither auto nor a positive number"},
      {"--model vit --dropout 1", "a dropout of 1"},
      {"--model vit --dropout=-0.1", "a dropout of -0.1"},
      {"--model vit --head-dropout nan", "a dropout of nan"},
      {"--model tiny --image-mean 0,0,0",
       "--image-mean is for image models, and --model tiny reads boards"},
      {"--model tiny --image-std auto",
       "--image-std is for image models, and --model tiny reads boards"},
      {"--model vit --image-mean 1,2", "--image-mean: \"1,2\" is not three numbers"},
      {"--model vit --image-std 58.4,57.1,57.4", "above 0 and at most 1"},
      {"--model vit --attention-bias", "--attention-bias is for board models"}};
  for (const auto& [arguments, what] : cases) {
    CLI::App app;
    TrainerOptions options;
    AddOptions(app, options);
    app.parse(std::string("--manifest m ") + arguments);
    EXPECT_THAT(options.Validate(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
  }
}

TEST_F(OptionsTest, HostsWithDataOfTheirOwnLeaveOutWhatMakesNoFullStep) {
  for (const char* remainder : {"short", "carry"}) {
    app_.parse(std::string("--manifest m --shard-by local-rank --remainder ") + remainder);
    EXPECT_THAT(options_.Validate(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("give --remainder drop")));
  }
  app_.parse("--manifest m --shard-by local-rank --remainder drop");
  EXPECT_OK(options_.Validate());
}

TEST_F(OptionsTest, ALookAheadWithoutItsUnitIsRefused) {
  app_.parse("--manifest m --look-ahead 64");
  EXPECT_THAT(options_.Validate(), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("--look-ahead: '64' is 64 bytes")));
}

TEST_F(OptionsTest, OneEpochUnlessStepsOrEpochsSayOtherwise) {
  EXPECT_EQ(options_.EpochLimit(), 1u);
  app_.parse("--steps 10");
  EXPECT_EQ(options_.EpochLimit(), 0u);
  app_.parse("--steps 10 --epochs 3");
  EXPECT_EQ(options_.EpochLimit(), 3u);
}

TEST_F(OptionsTest, APrintedDefaultConfigChangesNothing) {
  app_.parse("");
  const std::string config = app_.config_to_str(true, false);
  const TempFolder folder;
  TrainerOptions again;
  CLI::App app;
  AddOptions(app, again);
  app.parse("--config " + folder.Write("options.ini", config));
  EXPECT_EQ(app.config_to_str(true, false), config);
  EXPECT_FALSE(again.source.no_shuffle);
  EXPECT_EQ(again.EpochLimit(), 1u);
}

TEST_F(OptionsTest, UnknownWordsAreRefused) {
  EXPECT_THROW(app_.parse("--device tpu"), CLI::ValidationError);
  EXPECT_THROW(app_.parse("--remainder keep"), CLI::ValidationError);
  EXPECT_THROW(app_.parse("--no-such-option"), CLI::ExtrasError);
}

TEST_F(OptionsTest, DeviceIsAKindAndPerhapsANumber) {
  app_.parse("--device cuda:3 --gpu-memory-fraction 0.5 --no-graph");
  EXPECT_EQ(options_.device.device, "cuda:3");
  EXPECT_TRUE(options_.device.no_graph);
  for (const char* wrong : {"cuda:", "cuda:x", "cuda:-1", "gpu", ""}) {
    EXPECT_THAT(ParseDevice(wrong),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cuda:N")))
        << wrong;
  }
  options_.device.gpu_memory_fraction = 0;
  EXPECT_THAT(options_.device.Validate(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--gpu-memory-fraction")));
}

TEST_F(OptionsTest, SeveralStepsALaunchAreForAGpu) {
  app_.parse("--device cpu --steps-per-launch 4");
  EXPECT_THAT(options_.device.Validate(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--steps-per-launch 4")));
  options_.device.device = "auto";  // This may resolve to the CPU.
  EXPECT_OK(options_.device.Validate());
  EXPECT_THAT(options_.device.CheckForCpu(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--device auto")));
  options_.device.steps_per_launch = 1;
  EXPECT_OK(options_.device.CheckForCpu());
}

TEST_F(OptionsTest, WhatIsForAGpuAndChangesNothingOnTheCpuIsNamed) {
  EXPECT_EQ(options_.device.WithoutEffectOnCpu(), "");
  app_.parse("--manifest m --device cpu --no-graph");
  EXPECT_OK(options_.Validate());
  EXPECT_EQ(options_.device.WithoutEffectOnCpu(),
            "--no-graph has no effect, because this training runs on the CPU");
  app_.parse("--no-graph --allow-shared-gpu --gpu-memory-fraction 0.5");
  EXPECT_EQ(options_.device.WithoutEffectOnCpu(),
            "--gpu-memory-fraction, --no-graph, --allow-shared-gpu have no effect, because this "
            "training runs on the CPU");
}

TEST(DeviceOptionsTest, ALookAheadThatNoLaunchFitsInIsNamedWithOneThatDoes) {
  constexpr uint64_t kSlot = 1 << 20;
  EXPECT_EQ(LaunchesLackSlots(1, kSlot, kSlot), "");
  EXPECT_EQ(LaunchesLackSlots(4, 5 * kSlot, kSlot), "");
  EXPECT_THAT(LaunchesLackSlots(4, 5 * kSlot - 1, kSlot),
              testing::AllOf(HasSubstr("holds 4 batches"), HasSubstr("--look-ahead 9MiB")));
}

TEST(RestoreTest, ProductsAreAdoptedOfTheSameLibraryOnTheSameDevice) {
  const CheckpointInfo then{.numerics = "cuda sm_90", .libraries = "cuBLASLt 13.0.2"};
  BackendDescription now;
  now.numerics = then.numerics;
  now.math_library = then.libraries;
  EXPECT_TRUE(KnowsGemmPlan(then, now));
  BackendDescription other_library = now, other_device = now;
  other_library.math_library = "cuBLASLt 13.1.0";
  other_device.numerics = "cuda sm_80";
  EXPECT_FALSE(KnowsGemmPlan(then, other_library));
  EXPECT_FALSE(KnowsGemmPlan(then, other_device));
}

TEST(DeviceOptionsTest, RanksTakeTheGpusOfTheirHostInTurn) {
  const DeviceChoice any = *ParseDevice("cuda"), third = *ParseDevice("cuda:2");
  EXPECT_THAT(ChooseGpu(any, 1, 2, false), IsOkAndHolds(1u));
  EXPECT_THAT(ChooseGpu(any, 3, 2, true), IsOkAndHolds(1u));
  EXPECT_THAT(ChooseGpu(any, 1, 1, false), IsOkAndHolds(0u));  // The GPU that its launcher chose.
  EXPECT_THAT(ChooseGpu(any, 2, 2, false),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--allow-shared-gpu")));
  EXPECT_THAT(ChooseGpu(third, 0, 4, false), IsOkAndHolds(2u));
  EXPECT_THAT(ChooseGpu(third, 0, 2, false),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("sees 2 GPUs")));
}

TEST(ProfileOptionsTest, StepRangesAreTwoNumbers) {
  EXPECT_THAT(ParseStepRange("500:520"), IsOkAndHolds(testing::Pair(500, 520)));
  for (const char* wrong : {"", "5", "5:", ":5", "5:5", "6:5", "-1:5", "1:2:3", "a:b"}) {
    EXPECT_THAT(ParseStepRange(wrong),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("500:520")))
        << wrong;
  }
}

TEST(ProfileOptionsTest, EachRankHasAFileOfItsOwn) {
  for (const auto& [file, of_rank_2] : {std::pair{"a.b/trace.json", "a.b/trace.rank2.json"},
                                        std::pair{"a.b/trace", "a.b/trace.rank2"}}) {
    const ProfileOptions options{.file = file};
    EXPECT_EQ(options.FileOf(0), file);
    EXPECT_EQ(options.FileOf(2), of_rank_2);
  }
}

TEST_F(OptionsTest, ADiagnosisSavesNothing) {
  app_.parse("--manifest m --synthetic-data --checkpoint-dir c");
  EXPECT_THAT(options_.Validate(), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("--checkpoint-dir cannot be combined with")));
}

TEST(TextTest, GroupsDigitsAndWritesClocks) {
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(1234567), "1,234,567");
  EXPECT_EQ(ClockText(125), "2:05");
  EXPECT_EQ(ClockText(3723), "1:02:03");
}

TEST(ProgressLineTest, ShowsStepLossRateWaitAndTimeLeft) {
  ProgressLine progress(std::tmpfile(), /*terminal=*/false);
  const ProgressLine::Clock::time_point now{std::chrono::seconds(1)};
  for (uint64_t step : {1, 2}) {
    progress.Add({.step = step,
                  .total_steps = 10,
                  .rows = 256,
                  .loss = 0.02 * double(step),
                  .wait = std::chrono::milliseconds(20),
                  .compute = std::chrono::milliseconds(180)},
                 now);
  }
  EXPECT_EQ(progress.Line(), "step 2/10 loss 0.0300 1,280/s input wait 10.0 % 0:01 left");
}

TEST(ReportTest, StepEventsNameTheServers) {
  const auto json = nlohmann::json::parse(
      StepEvent({.step = 3, .total_steps = 9, .loss = 0.5}, {{"h:1", 7, 2, 1}}));
  EXPECT_EQ(json["event"], "step");
  EXPECT_EQ(json["step"], 3);
  EXPECT_EQ(json["steps"], 9);
  EXPECT_EQ(json["servers"][0]["address"], "h:1");
  EXPECT_EQ(json["servers"][0]["parts"], 7);
  EXPECT_EQ(json["servers"][0]["requests_in_flight"], 2);
}

TEST(ReportTest, SummaryHoldsTheEvaluationOnlyIfThereWasOne) {
  TrainSummary summary;
  EXPECT_FALSE(nlohmann::json::parse(SummaryJson(summary, RowKind::kPositions, {}))
                   .contains("holdout_loss"));
  summary.evaluation = Evaluation{.records = 5, .loss = 0.1, .train_mean_loss = 0.4};
  const auto json = nlohmann::json::parse(SummaryJson(summary, RowKind::kPositions, {}));
  EXPECT_DOUBLE_EQ(json["holdout_below_mean_percent"], 75);
  EXPECT_EQ(json["holdout_records"], 5);
}

TEST(ReportTest, OutputIsPartOfTheWallTimeAndNotOfTheStepsSeconds) {
  TrainSummary summary;
  summary.wait = summary.times[Phase::kInput] = std::chrono::seconds(1);
  summary.compute = summary.times[Phase::kCompute] = std::chrono::seconds(3);
  summary.times[Phase::kOutput] = std::chrono::seconds(2);
  const auto json = nlohmann::json::parse(SummaryJson(summary, RowKind::kPositions, {}));
  EXPECT_EQ(json["seconds"], 4);
  EXPECT_EQ(json["wall_seconds"], 6);
}

TEST(ReportTest, RowsAreCalledPositionsOnlyWhereTheyAre) {
  TrainSummary summary;
  summary.rows = 30;
  summary.compute = std::chrono::seconds(3);
  auto json = nlohmann::json::parse(SummaryJson(summary, RowKind::kImages, {}));
  EXPECT_EQ(json["rows"], 30);
  EXPECT_EQ(json["rows_per_second"], 10);
  EXPECT_FALSE(json.contains("positions") || json.contains("positions_per_second"));
  EXPECT_EQ(json["truncated_images"], 0);
  json = nlohmann::json::parse(SummaryJson(summary, RowKind::kPositions, {}));
  EXPECT_EQ(json["rows"], 30);
  EXPECT_EQ(json["positions"], 30);
  EXPECT_EQ(json["positions_per_second"], json["rows_per_second"]);
}

TEST(ReportTest, FilledImagesAreCounted) {
  const InputReport input{.servers = {}, .images = {.truncated = 3, .warnings = 5}};
  const auto json = nlohmann::json::parse(SummaryJson({}, RowKind::kImages, input));
  EXPECT_EQ(json["truncated_images"], 3);
  EXPECT_EQ(json["image_warnings"], 5);
  EXPECT_EQ(Describe(input.images), "3 truncated files were filled, 5 decoder warnings");
  EXPECT_EQ(Describe(ImageCounts{.truncated = 1}), "1 truncated file was filled");
  EXPECT_EQ(Describe(ImageCounts{}), "");
}

TEST(ReportTest, OfImagesTheAccuracyIsToldAndOfManyClassesThatOfFive) {
  TrainSummary summary;
  summary.evaluation = Evaluation{.records = 8, .loss = 1.5, .hits = 6};
  auto json = nlohmann::json::parse(SummaryJson(summary, RowKind::kPositions, {}));
  EXPECT_DOUBLE_EQ(json["holdout_accuracy"], 0.75);
  EXPECT_FALSE(json.contains("holdout_top5"));
  EXPECT_FALSE(json.contains("holdout_baseline"));
  summary.evaluation->top5_hits = 7;
  json = nlohmann::json::parse(SummaryJson(summary, RowKind::kPositions, {}));
  EXPECT_DOUBLE_EQ(json["holdout_top5"], 0.875);
  const auto event = nlohmann::json::parse(EvaluationEvent(7, *summary.evaluation));
  EXPECT_DOUBLE_EQ(event["accuracy"], 0.75);
  EXPECT_DOUBLE_EQ(event["top5"], 0.875);
  EXPECT_FALSE(event.contains("baseline"));
}

TEST(EventLogTest, SaysThatAFolderIsMissing) {
  EXPECT_THAT(EventLog::Open("/no/such/folder/events.jsonl", /*goes_on=*/false),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("events.jsonl")));
}

TEST(EventLogTest, ATrainingThatGoesOnAddsToWhatIsThere) {
  const TempFolder folder;
  const std::string path = folder.File("events.jsonl");
  for (const auto& [line, goes_on] : {std::pair{"old", false}, {"first", false}, {"more", true}}) {
    ASSERT_OK_AND_ASSIGN(EventLog log, EventLog::Open(path, goes_on));
    log.Write([line = line] { return std::string(line); });
  }
  std::ifstream in(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "first\nmore\n");
}

TEST(EventFileTest, AnEventIsTheBytesThatItsProtoSays) {
  const std::string event = ScalarEvent(1.0, 300, {{"a", 0.5}});
  EXPECT_EQ(event, std::string("\x09\0\0\0\0\0\0\xf0\x3f"  // wall_time = 1.0
                               "\x10\xac\x02"              // step = 300
                               "\x2a\x0a\x0a\x08"          // summary { value {
                               "\x0a\x01"
                               "a"                // tag
                               "\x15\0\0\0\x3f",  // simple_value = 0.5
                               24));
}

TEST(EventFileTest, FramesAreWhatATfRecordReaderTakes) {
  const TempFolder folder;
  ASSERT_OK_AND_ASSIGN(EventFile file, EventFile::Open(folder.path()));
  file.Write(7, {{"train/loss", 1.5}});
  ASSERT_OK(file.status());
  const std::string path = std::filesystem::directory_iterator(folder.path())->path();
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::vector<std::span<const uint8_t>> frames;
  ASSERT_OK(ParseFrames(BytesOf(bytes), Verify::kPayload, frames));
  ASSERT_EQ(frames.size(), 2u);
  const std::string second(frames[1].begin(), frames[1].end());
  EXPECT_THAT(second, HasSubstr("train/loss"));
}

TEST(EventLogTest, APipeThatNobodyReadsIsNotWaitedFor) {
  const TempFolder folder;
  const std::string pipe = folder.File("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(EventLog::Open(pipe, false).status().message(), HasSubstr(pipe));
}

TEST(EventFileTest, SaysThatAFolderCannotBeMade) {
  EXPECT_THAT(EventFile::Open("/proc/no/folder"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/proc/no/folder")));
}

TEST(SignalWatcherTest, ASignalIsReportedOnce) {
  std::mutex mutex;
  std::condition_variable called;
  int calls = 0;
  ASSERT_OK_AND_ASSIGN(const auto watcher, SignalWatcher::Start([&] {
                         std::lock_guard lock(mutex);
                         ++calls;
                         called.notify_all();
                       }));
  EXPECT_EQ(watcher->received(), 0);
  kill(getpid(), SIGTERM);
  std::unique_lock lock(mutex);
  called.wait(lock, [&] { return calls == 1; });
  EXPECT_EQ(watcher->received(), SIGTERM);
}

// Returns once the watcher's thread has received the signal.
void Deliver(int signal) {
  kill(getpid(), signal);
  for (sigset_t pending; sigpending(&pending) == 0 && sigismember(&pending, signal) == 1;) {
    std::this_thread::yield();
  }
}

// Slurm cancels a job like this: ranks get SIGTERM, and SIGUSR1 through srun.
TEST(SignalWatcherTest, SigUsr1IsNeverTheSecondSignal) {
  for (const int first : {SIGTERM, SIGUSR1}) {
    std::atomic<int> calls = 0;
    ASSERT_OK_AND_ASSIGN(const auto watcher, SignalWatcher::Start([&] {
                           ++calls;
                           calls.notify_all();
                         }));
    Deliver(first);
    calls.wait(0);
    EXPECT_EQ(watcher->received(), first);
    Deliver(first == SIGTERM ? SIGUSR1 : SIGTERM);
    Deliver(SIGUSR1);
    EXPECT_EQ(calls, 1);
  }
}

// timeout(1) sends its signals like this.
TEST(SignalWatcherTest, ASecondSignalAtOnceIsTheFirst) {
  signal(SIGHUP, SIG_DFL);  // Tests may run under nohup.
  ASSERT_OK_AND_ASSIGN(const auto watcher, SignalWatcher::Start([] {}));
  Deliver(SIGHUP);
  Deliver(SIGHUP);
  EXPECT_EQ(watcher->received(), SIGHUP);
}

TEST(SignalWatcherDeathTest, ASecondSignalLaterEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const auto watcher = SignalWatcher::Start([] {
          std::this_thread::sleep_for(StopSignals::kOneRequest);
          kill(getpid(), SIGINT);
        });
        kill(getpid(), SIGINT);
        for (;;) pause();
      },
      testing::ExitedWithCode(130), "");
}

}  // namespace
}  // namespace penstock
