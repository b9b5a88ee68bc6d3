#include "trainer/app/run.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/metrics/loader_metrics.h"
#include "penstock_version.h"
#include "records/base/status.h"
#include "records/base/text.h"
#include "records/decode/spec.h"
#include "records/io/atomic_file.h"
#include "trainer/app/divergence_report.h"
#include "trainer/app/host_shards.h"
#include "trainer/app/input_options.h"
#include "trainer/app/make_backend.h"
#include "trainer/app/open_in_turn.h"
#include "trainer/app/open_manifest.h"
#include "trainer/app/progress_line.h"
#include "trainer/app/rank_agreement.h"
#include "trainer/app/rank_memory.h"
#include "trainer/app/report.h"
#include "trainer/app/restore.h"
#include "trainer/app/run_lines.h"
#include "trainer/app/signal_watcher.h"
#include "trainer/app/stopper.h"
#include "trainer/app/training_watch.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/comm/gated_communicator.h"
#include "trainer/loader_input.h"
#include "trainer/model/initialize.h"
#include "trainer/profile/memory_table.h"
#include "trainer/profile/verdict.h"

namespace penstock {
namespace {

constexpr uint64_t kDiagnosisSteps = 200;  // Unless --steps says how many.
constexpr char kProgram[] = PENSTOCK_VERSION " (commit " PENSTOCK_COMMIT ")";

class TrainingRun {
 public:
  explicit TrainingRun(const TrainerOptions& options)
      : options_(options), watcher_([this] { stopper_.Stop(); }), late_(RankMark(options.rank)) {}

  // A signal may come until the watcher is gone, and ranks be late until they have left.
  ~TrainingRun() { stopper_.Watch(nullptr), late_.Watch(nullptr); }

  absl::StatusOr<RunResult> Run();

 private:
  absl::Status JoinRanks();
  absl::StatusOr<RunResult> RunJoined();
  // Rank 0 prints, saves and writes what is asked for.
  bool Leads() const { return options_.rank.rank == 0; }
  absl::Status CompareRanks();
  absl::Status CompareData();
  // An error: interrupted, or a rank was lost.
  absl::Status MayGoOn() const;
  absl::Status OpenData();
  absl::Status MakeBackend();
  // Rank 0's, on all ranks.
  absl::Status ShareStart();
  absl::Status RestoreOrInitialize(TrainState& state);
  absl::Status Resume(FoundCheckpoint found, TrainState& state);
  // Weights of --init-from, or of the seed.
  absl::Status Initialize(TrainState& state) const;
  void DescribeRun();
  absl::Status OpenTrainInput();
  uint64_t TotalSteps() const;
  std::vector<MemoryUse> MemoryUses() const;
  absl::StatusOr<TrainLoopOptions> LoopOptions();
  absl::Status OpenOutputs();
  absl::Status WriteResults(const TrainSummary& summary);
  Verdict JudgeRun(const TrainSummary& summary) const;

  const TrainerOptions& options_;
  Stopper stopper_;
  SignalWatcher watcher_;
  LateReport late_;
  std::unique_ptr<RankGroup> ranks_;
  v1::DecodeSpec spec_;
  std::shared_ptr<const Manifest> manifest_;  // Shared with the loaders.
  std::optional<GatedCommunicator> gate_;     // Of --no-allreduce.
  std::unique_ptr<Backend> backend_;
  std::optional<CheckpointFolder> checkpoints_;
  CheckpointInfo info_;
  HostShards shards_;
  std::unique_ptr<LoaderInput> input_;
  std::optional<TrainingWatch> watch_;
  std::unique_ptr<MetricsEndpoint> metrics_;  // Of input_. May be null.
  std::optional<EventLog> events_;
  std::optional<EventFile> board_;  // Of TensorBoard.
  std::vector<std::vector<uint64_t>> memory_of_ranks_;
  std::optional<ProgressLine> progress_;
};

absl::Status TrainingRun::JoinRanks() {
  RankGroupOptions join = ToGroupOptions(options_.ranks, late_);
  join.should_stop = [this] { return stopper_.stopping(); };
  PENSTOCK_ASSIGN_OR_RETURN(ranks_, RankGroup::Join(options_.rank, join));
  return absl::OkStatus();
}

// Before anything is sent whose size these decide.
absl::Status TrainingRun::CompareRanks() {
  const BackendDescription backend = backend_->Describe();
  SharedSettings settings = SharedOptions(options_.config);
  settings["the program"] = kProgram;
  settings["the arithmetic"] = backend.numerics;
  settings["the library"] = backend.math_library;
  settings["the decode spec"] = spec_.ShortDebugString();
  return CompareSettings(ranks_->communicator(), settings);
}

absl::Status TrainingRun::CompareData() {
  PENSTOCK_RETURN_IF_ERROR(
      shards_.CompareOrders(ranks_->communicator(), input_->loader().order_fingerprint()));
  return shards_.CompareCounts(ranks_->communicator(), TotalSteps(),
                               manifest_->num_records(Split::kHoldout) > 0);
}

absl::Status TrainingRun::MayGoOn() const {
  if (stopper_.stopping()) return absl::CancelledError("interrupted");
  return ranks_->store() == nullptr ? absl::OkStatus() : ranks_->store()->lost();
}

absl::Status TrainingRun::OpenData() {
  PENSTOCK_ASSIGN_OR_RETURN(spec_, LoadSpec(options_.spec));
  PENSTOCK_ASSIGN_OR_RETURN(manifest_, OpenManifest(options_, spec_, [this] { return MayGoOn(); }));
  return absl::OkStatus();
}

absl::Status TrainingRun::MakeBackend() {
  PENSTOCK_ASSIGN_OR_RETURN(info_.model, BoardModelConfig::Named(options_.model));
  info_.model.attention_bias = options_.attention_bias;
  if (options_.profile.no_allreduce) gate_.emplace(ranks_->communicator(), (TotalSteps() + 1) / 2);
  GatedCommunicator* gate = gate_.has_value() ? &*gate_ : nullptr;
  PENSTOCK_ASSIGN_OR_RETURN(backend_,
                            penstock::MakeBackend(options_, info_.model, *ranks_, gate, late_));
  return absl::OkStatus();
}

void TrainingRun::DescribeRun() {
  info_.seed = options_.seed;
  info_.global_batch_size = options_.global_batch_size;
  info_.virtual_shards = options_.virtual_shards;
  info_.reduction = options_.ranks.reduction;
  if (options_.ranks.compression != "none") {
    absl::StrAppend(&info_.reduction, " ", options_.ranks.compression);
  }
  if (options_.accumulate > 1) {
    absl::StrAppend(&info_.reduction, " of ", options_.accumulate, " batches a step");
  }
  info_.world_size = options_.rank.world_size;
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
  absl::PrintF("resuming from %s: step %d, cursor %s\n", found.path, then.step, then.cursor);
  if (!options_.init_from.empty()) absl::PrintF("--init-from is not used: training goes on\n");
  info_ = then;
  AdoptGemmPlan(then, *backend_);
  DescribeRun();
  state = std::move(found.checkpoint.state);
  return Annotate(CheckSameBits(then, info_, options_.require_same_bits), found.path);
}

absl::Status TrainingRun::Initialize(TrainState& state) const {
  if (options_.init_from.empty()) {
    InitializeParameters(backend_->table(), options_.seed, state.parameters);
    return absl::OkStatus();
  }
  PENSTOCK_RETURN_IF_ERROR(
      ReadSafetensors(options_.init_from, backend_->table(), state.parameters));
  absl::PrintF("starting with the weights of %s\n", options_.init_from);
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
  if (!options_.checkpoint_dir.empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(
        checkpoints_, CheckpointFolder::Open(options_.checkpoint_dir, options_.keep_checkpoints));
  }
  PENSTOCK_ASSIGN_OR_RETURN(
      std::optional<FoundCheckpoint> found,
      FindCheckpoint(options_.resume, checkpoints_.has_value() ? &*checkpoints_ : nullptr,
                     info_.model));
  if (found.has_value()) return Resume(*std::move(found), state);
  DescribeRun();
  return Initialize(state);
}

absl::Status TrainingRun::OpenTrainInput() {
  LoaderOptions loader = ToLoaderOptions(options_, manifest_, spec_);
  loader.plan.split = Split::kTrain;
  loader.plan.shuffle = !options_.no_shuffle;
  // An epoch has at least one step, so this many are enough for --steps alone.
  loader.epochs =
      options_.EpochLimit() == 0 ? options_.steps * options_.accumulate : options_.EpochLimit();
  // Nothing is fetched that will not be trained on.
  if (options_.steps > info_.step) {
    loader.max_steps = (options_.steps - info_.step) * options_.accumulate;
  }
  if (options_.profile.diagnoses()) {
    loader.epochs = 0;
    loader.max_steps = watch_->InputSteps(TotalSteps());
  }
  if (!info_.cursor.empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(loader.start, shards_.OwnCursor(info_.cursor));
  }
  shards_.Divide(loader);
  loader.slot_allocator = backend_->slot_allocator();
  PENSTOCK_ASSIGN_OR_RETURN(input_, LoaderInput::Open(std::move(loader)));
  WarnOfFewSlots(options_, input_->loader().stats());
  stopper_.Watch(input_.get());
  if (options_.rank.local_rank != 0) return absl::OkStatus();  // One port a host.
  PENSTOCK_ASSIGN_OR_RETURN(metrics_,
                            StartMetrics(options_.metrics, [this](MetricFamilies& families) {
                              AddLoaderMetrics(input_->loader().stats(), families);
                            }));
  if (metrics_ != nullptr) {
    absl::FPrintF(stderr, "metrics on http://%s/metrics\n", metrics_->address());
  }
  return absl::OkStatus();
}

uint64_t TrainingRun::TotalSteps() const {
  if (options_.profile.diagnoses()) return options_.steps == 0 ? kDiagnosisSteps : options_.steps;
  const uint64_t by_epochs =
      options_.EpochLimit() * input_->loader().steps_per_epoch() / options_.accumulate;
  if (options_.steps == 0) return by_epochs;
  if (options_.EpochLimit() == 0) return options_.steps;
  return std::min(options_.steps, by_epochs);
}

absl::StatusOr<TrainLoopOptions> TrainingRun::LoopOptions() {
  TrainLoopOptions loop;
  loop.total_steps = TotalSteps();
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
  loop.rank_0_saves = !options_.checkpoint_dir.empty();
  loop.holdout_apart = shards_.apart();
  loop.gather_cursors = [this](const std::string& own) {
    return shards_.GatherCursors(ranks_->communicator(), own);
  };
  loop.recorder = &watch_->recorder();
  if (manifest_->num_records(Split::kHoldout) > 0 && !options_.profile.diagnoses()) {
    loop.open_holdout = [this]() -> absl::StatusOr<std::unique_ptr<Input>> {
      LoaderOptions holdout = ToLoaderOptions(options_, manifest_, spec_);
      holdout.plan.split = Split::kHoldout;
      holdout.plan.shuffle = false;
      holdout.remainder = Remainder::kShort;
      shards_.Divide(holdout);
      return LoaderInput::Open(std::move(holdout));
    };
  }
  loop.should_stop = [this] { return stopper_.stopping(); };
  loop.on_divergence = [this](const Divergence& divergence) {
    return ReportDivergence(divergence, *manifest_, options_.checkpoint_dir,
                            Leads() ? "" : absl::StrCat("-rank-", options_.rank.rank));
  };
  if (!Leads()) return loop;
  loop.on_step = [this](const StepReport& report) {
    events_->Write([&] { return StepEvent(report, input_->servers()); });
    WriteStep(*board_, report);
    progress_->Add(report);
    watch_->Count(report);
  };
  loop.on_evaluation = [this](uint64_t step, const Evaluation& evaluation) {
    events_->Write([&] { return EvaluationEvent(step, evaluation); });
    WriteEvaluation(*board_, step, evaluation);
    progress_->Clear();
    absl::PrintF("step %d: %s (%.4f) over %s records\n", step, evaluation.ToString(),
                 evaluation.train_mean_loss, Grouped(evaluation.records));
    std::fflush(stdout);
  };
  return loop;
}

std::vector<MemoryUse> TrainingRun::MemoryUses() const {
  std::vector<MemoryUse> uses =
      backend_->MemoryUses(FormatOf(options_), options_.global_batch_size);
  uses.push_back(SlotUse(options_, input_->loader().stats()));
  return uses;
}

Verdict TrainingRun::JudgeRun(const TrainSummary& summary) const {
  return JudgeTraining(summary, backend_->Describe(), options_.dtype == "packed");
}

absl::StatusOr<RunResult> TrainingRun::Run() {
  PENSTOCK_RETURN_IF_ERROR(JoinRanks());
  absl::StatusOr<RunResult> result = RunJoined();
  if (!result.ok()) ranks_->Fail(result.status());
  return result;
}

absl::StatusOr<RunResult> TrainingRun::RunJoined() {
  PENSTOCK_RETURN_IF_ERROR(MakeBackend());
  watch_.emplace(options_.profile, backend_->Describe().threads, options_.rank.rank);
  watch_->Watch(*backend_);
  late_.Watch(&watch_->recorder());
  PENSTOCK_RETURN_IF_ERROR(OpenInTurn(
      options_.rank, ranks_->store(), [this] { return stopper_.stopping(); },
      [this] { return OpenData(); }));
  PENSTOCK_ASSIGN_OR_RETURN(const MateScoreParams params, ScoreParamsOf(options_, spec_));
  PENSTOCK_RETURN_IF_ERROR(CompareRanks());
  PENSTOCK_ASSIGN_OR_RETURN(shards_, HostShards::Find(ranks_->communicator(), options_));
  PENSTOCK_RETURN_IF_ERROR(ShareStart());
  PENSTOCK_RETURN_IF_ERROR(OpenTrainInput());
  PENSTOCK_RETURN_IF_ERROR(CompareData());
  PENSTOCK_ASSIGN_OR_RETURN(TrainLoopOptions loop_options, LoopOptions());
  PENSTOCK_ASSIGN_OR_RETURN(memory_of_ranks_, GatherMemory(ranks_->communicator(), MemoryUses()));
  if (Leads()) PENSTOCK_RETURN_IF_ERROR(OpenOutputs());
  progress_.emplace(stderr, isatty(STDERR_FILENO) == 1);

  BoardReader reader(params);
  const std::unique_ptr<Input> joined = shards_.Join(*input_, options_, info_.step);
  Input& normal = joined == nullptr ? *input_ : *joined;
  const std::unique_ptr<Input> diagnostic =
      options_.profile.diagnoses() ? watch_->Diagnose(normal, TotalSteps()) : nullptr;
  Input& input = diagnostic == nullptr ? normal : *diagnostic;
  TrainLoop loop(*backend_, reader, input, info_, std::move(loop_options));
  absl::StatusOr<TrainSummary> summary = loop.Run();
  progress_->Clear();
  stopper_.Watch(nullptr);
  PENSTOCK_RETURN_IF_ERROR(summary.status());
  PENSTOCK_RETURN_IF_ERROR(Leads() ? WriteResults(*summary) : watch_->WriteTrace());
  return RunResult{*std::move(summary), watcher_.received()};
}

absl::Status TrainingRun::OpenOutputs() {
  PENSTOCK_ASSIGN_OR_RETURN(events_, EventLog::Open(options_.events));
  PENSTOCK_ASSIGN_OR_RETURN(board_, EventFile::Open(options_.tensorboard));
  // Whether it can be written is better known before the training than after it.
  if (!options_.json.empty()) PENSTOCK_RETURN_IF_ERROR(AtomicFile::Create(options_.json).status());
  PrintStart(options_, {.backend = *backend_,
                        .memory = MemoryUses(),
                        .memory_of_ranks = memory_of_ranks_,
                        .train_records = manifest_->num_records(Split::kTrain),
                        .holdout_records = manifest_->num_records(Split::kHoldout),
                        .reduction = info_.reduction});
  return absl::OkStatus();
}

absl::Status TrainingRun::WriteResults(const TrainSummary& summary) {
  const Verdict verdict = JudgeRun(summary);
  PrintEnd(summary, verdict, watch_->Comparison());
  PENSTOCK_RETURN_IF_ERROR(watch_->WriteTrace());
  PENSTOCK_RETURN_IF_ERROR(events_->status());
  PENSTOCK_RETURN_IF_ERROR(board_->status());
  if (options_.json.empty()) return absl::OkStatus();
  const std::string json = SummaryJson(summary, input_->servers(), verdict, watch_->device_times());
  return WriteFileAtomically(options_.json,
                             {reinterpret_cast<const uint8_t*>(json.data()), json.size()});
}

}  // namespace

absl::StatusOr<RunResult> RunTraining(const TrainerOptions& options) {
  return TrainingRun(options).Run();
}

}  // namespace penstock
