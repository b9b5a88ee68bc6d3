#include "trainer/app/run.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "base/text.h"
#include "base/timeout.h"
#include "penstock_version.h"
#include "trainer/app/auto_pixels.h"
#include "trainer/app/classes.h"
#include "trainer/app/divergence_report.h"
#include "trainer/app/host_shards.h"
#include "trainer/app/input_options.h"
#include "trainer/app/label_facts.h"
#include "trainer/app/make_backend.h"
#include "trainer/app/open_in_turn.h"
#include "trainer/app/progress_line.h"
#include "trainer/app/rank_agreement.h"
#include "trainer/app/report.h"
#include "trainer/app/restore.h"
#include "trainer/app/run_lines.h"
#include "trainer/app/signal_watcher.h"
#include "trainer/app/spec_checks.h"
#include "trainer/app/stopper.h"
#include "trainer/app/summary_file.h"
#include "trainer/app/training_inputs.h"
#include "trainer/app/training_watch.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/comm/gated_communicator.h"
#include "trainer/comm/gather.h"
#include "trainer/input/board_reader.h"
#include "trainer/input/image_reader.h"
#include "trainer/model/initialize.h"
#include "trainer/profile/memory_table.h"
#include "trainer/profile/verdict.h"

namespace penstock {
namespace {

constexpr char kProgram[] = PENSTOCK_VERSION " (commit " PENSTOCK_COMMIT ")";

// Facts about the resumed checkpoint, which rank 0 sends to the others.
struct ResumedImages {
  uint64_t classes = 0;  // 0 unless a checkpoint of an image model is resumed.
  PixelStatistics pixels;
};

class TrainingRun {
 public:
  explicit TrainingRun(const TrainerOptions& options)
      : options_(options), late_(RankMark(options.rank)), inputs_(options, stopper_, metrics_) {}

  // late_ may still report while the ranks leave, when watch_ is already destroyed.
  ~TrainingRun() { late_.Watch(nullptr); }

  absl::StatusOr<RunResult> Run();

 private:
  absl::Status JoinRanks();
  absl::StatusOr<RunResult> JoinAndRun();
  absl::StatusOr<RunResult> RunJoined();
  // Rank 0 prints, saves and writes the requested files.
  bool Leads() const { return options_.rank.rank == 0; }
  RowKind row_kind() const { return model_.is_image() ? RowKind::kImages : RowKind::kPositions; }
  absl::Status CompareRanks();
  absl::Status CompareData();
  // Returns an error if the run was interrupted or a rank was lost.
  absl::Status MayGoOn() const;
  // Whether a signal ended the run before its first step, here or on a rank that then told this
  // one.
  bool WasInterrupted(const absl::Status& status) const;
  absl::Status OpenData();
  // On rank 0, finds the checkpoint to resume from.
  absl::Status FindStart();
  absl::Status ChooseModel();
  // REQUIRES: found_.
  absl::Status CheckFoundModel() const;
  // Completes a model of images from the checkpoint or the manifest.
  absl::Status CompleteModel(const ResumedImages& resumed);
  absl::Status MakeBackend();
  absl::Status MakeReader();
  // Copies rank 0's start to all ranks.
  absl::Status ShareStart();
  absl::Status RestoreOrInitialize(TrainState& state);
  absl::Status Resume(FoundCheckpoint found, TrainState& state);
  // Uses the weights of --init-from, or those of the seed.
  absl::Status Initialize(TrainState& state) const;
  void DescribeRun();
  absl::Status OpenTrain();
  std::vector<MemoryUse> MemoryUses() const;
  absl::StatusOr<TrainLoopOptions> LoopOptions();
  absl::Status OpenOutputs();
  absl::Status WriteResults(const TrainSummary& summary);
  // Returns the path of the newest checkpoint if it is of `step`, else "".
  std::string SavedAs(uint64_t step) const;
  absl::Status EndTogether(const TrainSummary& summary);
  Verdict JudgeRun(const TrainSummary& summary) const;

  const TrainerOptions& options_;
  Stopper stopper_;
  std::unique_ptr<SignalWatcher> watcher_;  // Set by Run().
  LateReport late_;
  std::unique_ptr<RankGroup> ranks_;
  std::optional<GatedCommunicator> gate_;  // Set with --no-allreduce.
  std::unique_ptr<Backend> backend_;
  std::optional<CheckpointFolder> checkpoints_;
  std::optional<FoundCheckpoint> found_;  // Set on rank 0, until the state is restored from it.
  std::string resumed_from_;              // The checkpoint's file; set on rank 0.
  ModelConfig model_;
  ClassesFrom classes_from_ = ClassesFrom::kOption;
  CheckpointInfo info_;
  std::unique_ptr<BatchReader> reader_;
  std::string targets_;
  HostShards shards_;
  TrainingMetrics metrics_;
  std::optional<TrainingWatch> watch_;  // Outlives inputs_, whose threads report to it.
  TrainingInputs inputs_;
  std::optional<EventLog> events_;
  std::optional<EventFile> board_;  // The event file for TensorBoard.
  SummaryFile summary_file_;
  std::vector<std::vector<uint64_t>> memory_of_ranks_;
  std::optional<ProgressLine> progress_;
  bool steps_began_ = false;
};

absl::Status TrainingRun::JoinRanks() {
  RankGroupOptions join = ToGroupOptions(options_.ranks, late_);
  join.should_stop = [this] { return stopper_.stopping(); };
  PENSTOCK_ASSIGN_OR_RETURN(ranks_, RankGroup::Join(options_.rank, join));
  if (ranks_->store() == nullptr) return absl::OkStatus();
  // An exchange reports a lost rank, but a rank that waits for input is in none. stopper_ outlives
  // the store.
  ranks_->store()->OnLost(&stopper_, [this](const absl::Status& why) { stopper_.Fail(why); });
  return absl::OkStatus();
}

// Must come before anything is sent whose size depends on these settings.
absl::Status TrainingRun::CompareRanks() {
  const BackendDescription backend = backend_->Describe();
  SharedSettings settings = SharedOptions(options_.config);
  settings["the program"] = kProgram;
  settings["the arithmetic"] = backend.numerics;
  settings["the library"] = backend.math_library;
  settings["the decode spec"] = inputs_.spec().ShortDebugString();
  settings["the evaluation's decode spec"] = inputs_.eval_spec().ShortDebugString();
  settings["the number of classes"] = absl::StrCat(model_.classes);
  settings["the pixels' mean and deviation"] = absl::StrCat(
      ChannelsText(model_.pixels.mean), " and ", ChannelsText(model_.pixels.deviation));
  return CompareSettings(ranks_->communicator(), settings);
}

absl::Status TrainingRun::CompareData() {
  PENSTOCK_RETURN_IF_ERROR(
      shards_.CompareOrders(ranks_->communicator(), inputs_.loader().order_fingerprint()));
  return shards_.CompareCounts(ranks_->communicator(), inputs_.TotalSteps(), inputs_.has_holdout());
}

absl::Status TrainingRun::MayGoOn() const {
  if (stopper_.stopping()) return absl::CancelledError("interrupted");
  return ranks_->store() == nullptr ? absl::OkStatus() : ranks_->store()->lost();
}

absl::Status TrainingRun::OpenData() {
  OpenInTurnOptions turn;
  turn.should_stop = [this] { return stopper_.stopping(); };
  turn.late_after = *ParseTimeout(options_.ranks.late_after);  // Validate() has checked it.
  turn.report = [this](absl::string_view line) { late_.Tell(line); };
  return OpenInTurn(options_.rank, ranks_->store(), turn,
                    [this] { return inputs_.OpenManifest([this] { return MayGoOn(); }); });
}

absl::Status TrainingRun::FindStart() {
  if (!Leads()) return absl::OkStatus();
  if (!options_.checkpoint_dir.empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(
        checkpoints_, CheckpointFolder::Open(options_.checkpoint_dir, options_.keep_checkpoints));
  }
  PENSTOCK_ASSIGN_OR_RETURN(
      found_, FindCheckpoint(options_.resume, checkpoints_.has_value() ? &*checkpoints_ : nullptr));
  return absl::OkStatus();
}

absl::Status TrainingRun::ChooseModel() {
  PENSTOCK_ASSIGN_OR_RETURN(model_, options_.Model());
  // If the checkpoint is of another model, that is the cause; the spec was right for that model.
  const bool of_another = found_.has_value() && found_->checkpoint.info.model.name != model_.name;
  if (of_another) return CheckFoundModel();
  PENSTOCK_RETURN_IF_ERROR(CheckSpecs(inputs_.specs(), model_, inputs_.manifest().features()));
  // All ranks take part, whatever their options are: those are compared later.
  ResumedImages resumed;
  if (found_.has_value()) {
    const ModelConfig& model = found_->checkpoint.info.model;
    resumed = {model.classes, model.pixels};
  }
  PENSTOCK_RETURN_IF_ERROR(ranks_->communicator().Broadcast(0, AsBytes(std::span(&resumed, 1))));
  if (model_.is_image()) PENSTOCK_RETURN_IF_ERROR(CompleteModel(resumed));
  return found_.has_value() ? CheckFoundModel() : absl::OkStatus();
}

absl::Status TrainingRun::CheckFoundModel() const {
  return Annotate(CheckModel(found_->checkpoint.info.model, model_),
                  absl::StrCat("checkpoint ", found_->path));
}

absl::Status TrainingRun::CompleteModel(const ResumedImages& resumed) {
  if (options_.image.classes == kAutoValue) {
    PENSTOCK_ASSIGN_OR_RETURN(
        model_.classes, AutoClasses(resumed.classes, inputs_.manifest().class_names().size()));
    classes_from_ = resumed.classes > 0 ? ClassesFrom::kCheckpoint : ClassesFrom::kManifest;
  }
  if (options_.image.auto_pixels()) {
    PixelStatistics pixels = resumed.pixels;
    if (resumed.classes == 0) {
      PENSTOCK_ASSIGN_OR_RETURN(pixels, AutoPixels(inputs_.manifest(), inputs_.spec()));
    }
    options_.image.SetAutoPixels(pixels, model_);
  }
  return model_.Validate();
}

absl::Status TrainingRun::MakeBackend() {
  if (options_.profile.no_allreduce) {
    gate_.emplace(ranks_->communicator(), (inputs_.TotalSteps() + 1) / 2);
  }
  GatedCommunicator* gate = gate_.has_value() ? &*gate_ : nullptr;
  PENSTOCK_ASSIGN_OR_RETURN(backend_,
                            penstock::MakeBackend(options_, model_, *ranks_, gate, late_));
  return absl::OkStatus();
}

absl::Status TrainingRun::MakeReader() {
  if (model_.is_image()) {
    reader_ = std::make_unique<ImageReader>(
        model_.side,
        LabelFactsOf(model_, classes_from_, inputs_.manifest(), inputs_.spec(), "images-train"));
    targets_ = absl::StrCat(model_.classes, " classes");
    return absl::OkStatus();
  }
  PENSTOCK_ASSIGN_OR_RETURN(const MateScoreParams params,
                            ScoreParamsOf(inputs_.specs().train_title, inputs_.spec()));
  reader_ = std::make_unique<BoardReader>(params);
  targets_ = DescribeTargets(params);
  return absl::OkStatus();
}

void TrainingRun::DescribeRun() {
  info_.model = model_;
  info_.seed = options_.seed;
  info_.global_batch_size = options_.global_batch_size;
  info_.virtual_shards = options_.virtual_shards;
  info_.reduction = options_.ranks.reduction;
  info_.compression = options_.ranks.compression;
  info_.accumulate = options_.accumulate;
  info_.remainder = options_.source.remainder;
  info_.world_size = options_.rank.world_size;
  info_.targets = targets_;
  UpdateClassNames(ClassNamesOf(inputs_.manifest()), info_);
  info_.eval_spec = model_.is_image() ? inputs_.eval_spec().ShortDebugString() : "";
  const BackendDescription backend = backend_->Describe();
  info_.block_rows = backend.block_rows;
  info_.numerics = backend.numerics;
  info_.precision = options_.precision;
  info_.gemm_plan = backend.gemm_plan;
  info_.libraries = backend.math_library;
  info_.version = kProgram;
}

absl::Status TrainingRun::Resume(FoundCheckpoint found, TrainState& state) {
  const CheckpointInfo then = found.checkpoint.info;
  info_ = then;
  resumed_from_ = found.path;
  PENSTOCK_RETURN_IF_ERROR(AdoptOrChooseGemmPlan(then, *backend_));
  DescribeRun();
  state = std::move(found.checkpoint.state);
  PENSTOCK_RETURN_IF_ERROR(
      Annotate(CheckSameBits(then, info_, options_.require_same_bits), found.path));
  PrintEscaped(stdout, "resuming from %s: step %d, cursor %s\n", found.path, then.step,
               then.cursor);
  if (!options_.init_from.empty())
    PrintEscaped(stdout,
                 "--init-from is not used, because this training resumes from a checkpoint\n");
  ForgetOtherTargets(then, info_);
  if (checkpoints_.has_value()) TellOfLaterBest(*checkpoints_, info_);
  return absl::OkStatus();
}

absl::Status TrainingRun::Initialize(TrainState& state) const {
  if (options_.init_from.empty()) {
    InitializeParameters(backend_->table(), options_.seed, state.parameters);
    return absl::OkStatus();
  }
  PENSTOCK_RETURN_IF_ERROR(
      ReadSafetensors(options_.init_from, backend_->table(), state.parameters));
  PrintEscaped(stdout, "starting with the weights of %s\n", options_.init_from);
  return absl::OkStatus();
}

absl::Status TrainingRun::ShareStart() {
  TrainState state(backend_->table().arena_size());
  if (Leads()) PENSTOCK_RETURN_IF_ERROR(RestoreOrInitialize(state));
  PENSTOCK_RETURN_IF_ERROR(ShareTraining(ranks_->communicator(), backend_->table(), info_, state));
  PENSTOCK_RETURN_IF_ERROR(backend_->AdoptGemmPlan(info_.gemm_plan));
  return backend_->SetState(std::move(state));
}

absl::Status TrainingRun::RestoreOrInitialize(TrainState& state) {
  if (found_.has_value()) return Resume(*std::exchange(found_, std::nullopt), state);
  PENSTOCK_RETURN_IF_ERROR(backend_->ChooseGemmPlan());
  DescribeRun();
  return Initialize(state);
}

absl::Status TrainingRun::OpenTrain() {
  const absl::Status opened =
      inputs_.OpenTrain(info_, shards_, *watch_, backend_->slot_allocator());
  if (!opened.ok()) return info_.cursor.empty() ? opened : AboutCheckpoint(opened, resumed_from_);
  watch_->TellOfNoSteps(info_.step + 1, inputs_.TotalSteps());
  return absl::OkStatus();
}

absl::StatusOr<TrainLoopOptions> TrainingRun::LoopOptions() {
  TrainLoopOptions loop;
  loop.total_steps = inputs_.TotalSteps();
  loop.accumulate = options_.accumulate;
  PENSTOCK_ASSIGN_OR_RETURN(loop.schedule.shape, ParseLearningRateShape(options_.lr_schedule));
  loop.schedule.peak = options_.learning_rate;
  loop.schedule.warmup_steps = options_.warmup_steps;
  loop.schedule.total_steps = loop.total_steps;
  PENSTOCK_RETURN_IF_ERROR(loop.schedule.Validate());
  loop.decay_rate = options_.weight_decay;
  loop.clip_norm = options_.clip_norm;
  loop.digest = options_.digest;
  loop.checkpoint_every = options_.checkpoint_every;
  loop.eval_every = options_.eval_every;
  loop.early_stop = options_.early_stop;
  loop.checkpoints = checkpoints_.has_value() ? &*checkpoints_ : nullptr;
  loop.ranks = &ranks_->communicator();
  loop.ranks_differ = options_.profile.no_allreduce;
  loop.rank_0_saves = !options_.checkpoint_dir.empty();
  loop.holdout_apart = shards_.apart();
  loop.gather_cursors = [this](const std::string& own) {
    return shards_.GatherCursors(ranks_->communicator(), own);
  };
  loop.recorder = &watch_->recorder();
  if (inputs_.has_holdout() && !options_.profile.diagnoses()) {
    loop.open_holdout = [this] { return inputs_.OpenHoldout(shards_); };
  }
  loop.should_stop = [this] { return stopper_.stopping(); };
  loop.on_divergence = [this](const Divergence& divergence) {
    return ReportDivergence(divergence, inputs_.manifest(), options_.checkpoint_dir,
                            Leads() ? "" : absl::StrCat("-rank-", options_.rank.rank));
  };
  if (!Leads()) {
    loop.on_step = [this](const StepReport& report) { metrics_.NoteStep(report); };
    return loop;
  }
  if (checkpoints_.has_value()) metrics_.ExpectCheckpoints();
  loop.on_checkpoint = [this] { metrics_.NoteCheckpoint(); };
  loop.on_step = [this](const StepReport& report) {
    metrics_.NoteStep(report);
    events_->Write([&] { return StepEvent(report, inputs_.train().servers()); });
    WriteStep(*board_, report, row_kind());
    progress_->Add(report);
    watch_->Count(report);
  };
  loop.on_evaluation = [this](uint64_t step, const Evaluation& evaluation) {
    events_->Write([&] { return EvaluationEvent(step, evaluation); });
    WriteEvaluation(*board_, step, evaluation);
    progress_->Clear();
    PrintEscaped(stdout, "step %d: held-out %s over %s records\n", step, evaluation.ToString(),
                 Grouped(evaluation.records));
    std::fflush(stdout);
  };
  return loop;
}

std::vector<MemoryUse> TrainingRun::MemoryUses() const {
  std::vector<MemoryUse> uses =
      backend_->MemoryUses(FormatOf(options_, model_), options_.global_batch_size);
  uses.push_back(SlotUse(inputs_.loader().stats()));
  uses.push_back(EngineUse(options_, inputs_.manifest()));
  return uses;
}

Verdict TrainingRun::JudgeRun(const TrainSummary& summary) const {
  const BackendDescription backend = backend_->Describe();
  // Not every build and processor supports bf16.
  const bool no_bf16 = !backend.gpu && !ParseGemmEngine(options_.gemm, "bf16").ok();
  return JudgeTraining(summary, backend,
                       {.packed = model_.is_image() || options_.BoardDtype() == "packed",
                        .bf16 = no_bf16 || options_.precision == "bf16",
                        .fast = options_.ranks.fast(),
                        .half_exchange = options_.ranks.compression != "none",
                        .several_steps_a_launch = options_.device.steps_per_launch > 1,
                        .diagnoses = options_.profile.diagnoses()});
}

absl::StatusOr<RunResult> TrainingRun::Run() {
  PENSTOCK_ASSIGN_OR_RETURN(watcher_, SignalWatcher::Start([this] { stopper_.Stop(); }));
  absl::StatusOr<RunResult> result = JoinAndRun();
  if (!WasInterrupted(result.status())) return result;
  RunResult stopped;
  stopped.summary.stopped = true;
  stopped.signal = watcher_->received();
  if (stopped.signal == 0 || !absl::IsCancelled(result.status())) {
    stopped.why = std::string(result.status().message());
  }
  return stopped;
}

bool TrainingRun::WasInterrupted(const absl::Status& status) const {
  // A call that a server cancelled does not count as an interruption.
  if (absl::IsCancelled(status)) return ranks_ == nullptr || absl::IsCancelled(MayGoOn());
  // Ranks that are stopped together end in any order, because they agree on a stop only during the
  // steps.
  return absl::IsUnavailable(status) && watcher_->received() != 0 && !steps_began_;
}

absl::StatusOr<RunResult> TrainingRun::JoinAndRun() {
  PENSTOCK_RETURN_IF_ERROR(JoinRanks());
  absl::StatusOr<RunResult> result = RunJoined();
  if (result.ok()) return result;
  const bool failed = absl::IsCancelled(result.status()) && !WasInterrupted(result.status());
  ranks_->Fail(failed ? absl::UnknownError(result.status().message()) : result.status());
  return result;
}

// Waits for all ranks, because a launcher kills the remaining ones once a rank ends with a code
// other than 0.
absl::Status TrainingRun::EndTogether(const TrainSummary& summary) {
  if (!summary.stopped || options_.stopped_exit_code == 0) return absl::OkStatus();
  return ranks_->communicator().Barrier();
}

absl::StatusOr<RunResult> TrainingRun::RunJoined() {
  PENSTOCK_RETURN_IF_ERROR(OpenData());
  PENSTOCK_RETURN_IF_ERROR(FindStart());
  PENSTOCK_RETURN_IF_ERROR(ChooseModel());
  PENSTOCK_RETURN_IF_ERROR(MakeBackend());
  watch_.emplace(options_.profile, backend_->Describe().threads, options_.rank.rank);
  watch_->Watch(*backend_);
  late_.Watch(&watch_->recorder());
  PENSTOCK_RETURN_IF_ERROR(MakeReader());
  PENSTOCK_RETURN_IF_ERROR(CompareRanks());
  PENSTOCK_ASSIGN_OR_RETURN(shards_, HostShards::Find(ranks_->communicator(), options_));
  PENSTOCK_RETURN_IF_ERROR(ShareStart());
  PENSTOCK_RETURN_IF_ERROR(OpenTrain());
  PENSTOCK_RETURN_IF_ERROR(CompareData());
  PENSTOCK_ASSIGN_OR_RETURN(TrainLoopOptions loop_options, LoopOptions());
  PENSTOCK_ASSIGN_OR_RETURN(memory_of_ranks_, GatherMemory(ranks_->communicator(), MemoryUses()));
  PENSTOCK_RETURN_IF_ERROR(watch_->CheckTraceFile());
  if (Leads()) PENSTOCK_RETURN_IF_ERROR(OpenOutputs());
  progress_.emplace(stderr, isatty(STDERR_FILENO) == 1);

  const std::unique_ptr<Input> joined = shards_.Join(inputs_.train(), options_, info_.step);
  Input& normal = joined == nullptr ? inputs_.train() : *joined;
  const std::unique_ptr<Input> diagnostic =
      options_.profile.diagnoses() ? watch_->Diagnose(normal, inputs_.TotalSteps()) : nullptr;
  Input& input = diagnostic == nullptr ? normal : *diagnostic;
  TrainLoop loop(*backend_, *reader_, input, info_, std::move(loop_options));
  steps_began_ = true;
  absl::StatusOr<TrainSummary> summary = loop.Run();
  progress_->Clear();
  PENSTOCK_RETURN_IF_ERROR(summary.status());
  PENSTOCK_RETURN_IF_ERROR(Leads() ? WriteResults(*summary) : watch_->WriteTrace());
  PENSTOCK_RETURN_IF_ERROR(EndTogether(*summary));
  return RunResult{*std::move(summary), watcher_->received()};
}

absl::Status TrainingRun::OpenOutputs() {
  PENSTOCK_ASSIGN_OR_RETURN(events_, EventLog::Open(options_.events, info_.step > 0));
  PENSTOCK_ASSIGN_OR_RETURN(board_, EventFile::Open(options_.tensorboard));
  PENSTOCK_ASSIGN_OR_RETURN(summary_file_, SummaryFile::Open(options_.json));
  PrintStart(options_, {.backend = *backend_,
                        .memory = MemoryUses(),
                        .memory_of_ranks = memory_of_ranks_,
                        .train_records = inputs_.manifest().num_records(Split::kTrain),
                        .holdout_records = inputs_.manifest().num_records(Split::kHoldout),
                        .pixels = model_.pixels});
  return absl::OkStatus();
}

std::string TrainingRun::SavedAs(uint64_t step) const {
  if (!checkpoints_.has_value()) return "";
  const absl::StatusOr<std::vector<std::string>> paths = checkpoints_->List();
  if (!paths.ok()) return "";
  const auto found = std::find_if(paths->begin(), paths->end(), [step](const std::string& path) {
    return StepOfFile(path) == step;
  });
  return found == paths->end() ? "" : *found;
}

absl::Status TrainingRun::WriteResults(const TrainSummary& summary) {
  const Verdict verdict = JudgeRun(summary);
  // If one file fails, the others are still written.
  absl::Status status = watch_->WriteTrace();
  const InputReport input{inputs_.train().servers(), inputs_.loader().stats().images};
  PrintEnd(summary, {.kind = row_kind(),
                     .images = input.images,
                     .saved = SavedAs(summary.step),
                     .trace = watch_->trace_lines(),
                     .comparison = watch_->Comparison(),
                     .verdict = verdict});
  status.Update(events_->status());
  status.Update(board_->status());
  if (!summary_file_.wanted()) return status;
  status.Update(summary_file_.Write(
      SummaryJson(summary, row_kind(), input, verdict, watch_->device_times())));
  return status;
}

}  // namespace

absl::StatusOr<RunResult> RunTraining(const TrainerOptions& options) {
  return TrainingRun(options).Run();
}

}  // namespace penstock
