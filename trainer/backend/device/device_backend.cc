#include "trainer/backend/device/device_backend.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "kernels/reference/adamw.h"

namespace penstock {
namespace {

constexpr auto kComputeStream = static_cast<size_t>(DeviceQueue::kCompute);
constexpr auto kCopyStream = static_cast<size_t>(DeviceQueue::kCopy);
// Time limit of a wait for work that was queued behind an error.
constexpr absl::Duration kWaitForBroken = absl::Minutes(1);

}  // namespace

DeviceBackend::~DeviceBackend() {
  // Queued work must not use memory that is freed with the device. There is nobody to report an
  // error to.
  (void)Drop(absl::CancelledError("the training ends"));
  EndGraphs();
}

bool DeviceBackend::IsSilent(const Sent& batch) const {
  if (!Overlaps()) return false;
  merge_->ranks().Mark(batch.step - 1, 0);
  return merge_->ranks().IsSilent();
}

StepLists& DeviceBackend::ListsOf(const Sent& batch) {
  const size_t half = IsSilent(batch) ? kBatchKinds : 0;
  std::optional<StepLists>& lists = lists_[batch.slot][half + batch.kind.index()];
  if (!lists.has_value()) lists = Lists().Batch(batch.slot, batch.kind);
  return *lists;
}

absl::Status DeviceBackend::CheckRows(const BatchRows& rows, size_t global_rows) const {
  if (rows.rows > 0 && rows.format != options_.format) {
    return absl::InvalidArgumentError(
        "the batch has another --dtype or image size than this backend was created for");
  }
  if (global_rows <= options_.global_rows) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the batch has ", global_rows,
                                                 " rows, but this backend was created for at most ",
                                                 options_.global_rows));
}

absl::Status DeviceBackend::CheckIdle() const {
  if (begun_.empty()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(begun_.size(), " batches are still in progress"));
}

// A group's slots are filled again only once all its batches are finished, because the host then
// knows that no work uses them.
size_t DeviceBackend::room() const {
  const bool busy = std::any_of(begun_.begin(), begun_.end(),
                                [&](const Sent& sent) { return GroupOf(sent.slot) == group_; });
  return busy ? 0 : options_.steps_per_launch - staged_.size();
}

absl::Status DeviceBackend::Stage(const BatchRows& rows, const UpdateOptions& update, bool last) {
  const size_t global_rows = update.global_rows == 0 ? rows.rows : update.global_rows;
  if (global_rows == 0 || (rows.rows > 0 && rows.targets == nullptr)) {
    return absl::InvalidArgumentError("a training step needs rows and their targets");
  }
  PENSTOCK_RETURN_IF_ERROR(CheckRows(rows, global_rows));
  if (room() == 0) return absl::InternalError("no slot is free for another batch");
  const PhaseScope phase(recorder_, Phase::kHostToDevice);
  const Sent batch{.slot = group_ * options_.steps_per_launch + staged_.size(),
                   .rows = rows.rows,
                   .global_rows = global_rows,
                   .kind = {.first = between_steps_, .last = last},
                   .step = NextStep()};
  const BatchSender::Numbers numbers{
      .weight = 1.0f / static_cast<float>(global_rows * update.batches),
      .update = {reference::AdamwScalars<float>::ForStep(batch.step, update.learning_rate,
                                                         update.decay_rate, 1.0),
                 static_cast<float>(update.clip_norm)},
      .random_key = update.random_key};
  const DeviceLaunchScope launch(profile_, {.step = batch.step, .what = "batch"}, kCopyStream);
  PENSTOCK_RETURN_IF_ERROR(
      sender_->Send(rows, global_rows, numbers, batch.slot, ArrivalOf(group_)));
  staged_.push_back(batch);
  between_steps_ = last;
  return absl::OkStatus();
}

uint64_t DeviceBackend::NextStep() const {
  auto updates = [](const std::deque<Sent>& batches) {
    return static_cast<uint64_t>(std::count_if(batches.begin(), batches.end(),
                                               [](const Sent& batch) { return batch.kind.last; }));
  };
  return state_.step + updates(begun_) + updates(staged_) + 1;
}

DeviceList& DeviceBackend::ListOfGroup() {
  DeviceList& all = launches_[group_][IsSilent(staged_.front())];
  if (all.empty()) all = Lists().Batches(staged_.front().slot, staged_.size());
  return all;
}

absl::Status DeviceBackend::LaunchStaged() {
  const SpanScope span(tracer_, "launch", {"step", staged_.front().step});
  has_launched_ = true;
  PENSTOCK_RETURN_IF_ERROR(device_->Wait(ArrivalOf(group_), DeviceQueue::kCompute));
  const bool are_steps = std::all_of(staged_.begin(), staged_.end(), [](const Sent& batch) {
    return batch.kind.first && batch.kind.last;
  });
  const bool is_whole = staged_.size() == options_.steps_per_launch && staged_.size() > 1;
  if (are_steps && is_whole && IsSilent(staged_.front()) == IsSilent(staged_.back())) {
    const DeviceLaunch steps{staged_.front().step, staged_.size(), /*computes=*/true, "steps"};
    const DeviceLaunchScope launch(profile_, steps, kComputeStream);
    PENSTOCK_RETURN_IF_ERROR(ListOfGroup().Run(*device_, options_.graphs));
  } else {
    for (const Sent& batch : staged_) {
      const char* what = batch.kind.last ? "step" : "batch";
      const DeviceLaunchScope launch(profile_, {batch.step, 1, /*computes=*/true, what},
                                     kComputeStream);
      PENSTOCK_RETURN_IF_ERROR(ListsOf(batch).first.Run(*device_, options_.graphs));
    }
  }
  return device_->Record(DoneOf(group_), DeviceQueue::kCompute);
}

absl::Status DeviceBackend::Begin() {
  if (staged_.empty()) return absl::OkStatus();
  // Without overlap, the exchange that follows a batch is not queued with it.
  if (ranks_.size() > 1 && !Overlaps()) PENSTOCK_RETURN_IF_ERROR(CheckIdle());
  const PhaseScope phase(recorder_, Phase::kLaunch);
  if (Overlaps()) {
    for (const Sent& batch : staged_) progress_.Begin(batch.slot, batch.step - 1);
  }
  if (absl::Status launched = launcher_.Run([&] { return LaunchStaged(); }); !launched.ok()) {
    (void)Drop(launched, /*broken=*/true);  // Only the first error is reported.
    return launched;
  }
  for (Sent& batch : staged_) {
    batch.begun = Tracer::Clock::now();
    begun_.push_back(batch);
  }
  staged_.clear();
  group_ = (group_ + 1) % kBatchGroups;
  return absl::OkStatus();
}

// Copies of the dropped batches end before their slots are refilled, because the next launch waits
// for the latest copy.
void DeviceBackend::Unstage(size_t batches) {
  if (staged_.size() <= batches) return;
  between_steps_ = staged_[batches].kind.first;
  staged_.resize(batches);
}

absl::Status DeviceBackend::RunAndAwait(DeviceList& list, const Sent& batch, const char* what) {
  const DeviceEvent done = DoneOf(GroupOf(batch.slot));
  {
    const PhaseScope phase(recorder_, Phase::kLaunch);
    const absl::Status launched = launcher_.Run([&]() -> absl::Status {
      const SpanScope span(tracer_, what, {"step", batch.step});
      const DeviceLaunchScope launch(profile_, {batch.step, 1, /*computes=*/true, what},
                                     kComputeStream);
      PENSTOCK_RETURN_IF_ERROR(list.Run(*device_, options_.graphs));
      return device_->Record(done, DeviceQueue::kCompute);
    });
    PENSTOCK_RETURN_IF_ERROR(launched);
  }
  const PhaseScope phase(recorder_, Phase::kCompute);
  return device_->Await(done);
}

absl::Status DeviceBackend::AwaitFirst(const Sent& batch) {
  {
    const PhaseScope phase(recorder_, Phase::kHostToDevice);
    PENSTOCK_RETURN_IF_ERROR(device_->Await(ArrivalOf(GroupOf(batch.slot))));
  }
  if (Overlaps()) return AwaitExchange(batch);
  const PhaseScope phase(recorder_, Phase::kCompute);
  return device_->Await(DoneOf(GroupOf(batch.slot)));
}

// If the ranks exchange gradients after the computation, the loss is known before anything changes.
// If all is queued at once, the update kernel leaves the state unchanged after a diverged step, and
// an infinite loss always has an infinite gradient.
absl::StatusOr<StepResult> DeviceBackend::FinishFirst(const Sent& batch) {
  ranks_.Mark(state_.step, 0);
  if (gradient_ranks_ != nullptr) gradient_ranks_->Mark(state_.step, 0);
  StepResult result;
  PENSTOCK_RETURN_IF_ERROR(AwaitFirst(batch));
  MarkDone(batch);
  PENSTOCK_ASSIGN_OR_RETURN(result.loss, GatherLoss(batch));
  const bool told_first = !batch.kind.last || ranks_.size() > 1;
  if (told_first && !std::isfinite(result.loss)) {
    return CheckFinite(state_.step, {result.loss, result.loss});
  }
  if (!batch.kind.last) return result;
  if (ranks_.size() > 1 && !Overlaps()) PENSTOCK_RETURN_IF_ERROR(Update(batch));
  result.gradient_norm = *memory_->host_norm(batch.slot);
  PENSTOCK_RETURN_IF_ERROR(CheckFinite(state_.step, result));
  state_is_here_ = false;
  ++state_.step;
  return result;
}

void DeviceBackend::MarkDone(const Sent& batch) {
  for (Sent& begun : begun_) begun.done |= GroupOf(begun.slot) == GroupOf(batch.slot);
}

// Leaves errors to Finish(). A device that has computed everything only waits for other ranks.
bool DeviceBackend::IsBusy() {
  if (begun_.empty()) return false;
  if (Overlaps() && progress_.computed(LastOfGroup(begun_.front()).slot)) return false;
  const absl::StatusOr<bool> done = device_->Done(DoneOf(GroupOf(begun_.front().slot)));
  return done.ok() && !*done;
}

absl::StatusOr<StepResult> DeviceBackend::Finish() {
  if (begun_.empty()) return absl::InternalError("Finish() was called without a batch in progress");
  absl::StatusOr<StepResult> result = FinishFirst(begun_.front());
  Trace(begun_.front());
  const bool ends_profile = EndsProfile(begun_.front());
  const bool diverged = absl::IsFailedPrecondition(result.status());
  if (result.ok()) begun_.pop_front();
  // Waits for queued exchanges: the device may wait for other ranks, which may be lost.
  if (diverged || ends_profile) {
    if (absl::Status ended = AwaitExchanges(); !ended.ok() && result.ok()) result = ended;
  }
  if (!result.ok()) (void)Drop(result.status());  // Only the first error is reported.
  if (ends_profile) EndProfile();
  return result;
}

void DeviceBackend::Trace(const Sent& batch) {
  const Tracer::Clock::time_point end = Tracer::Clock::now();
  if (tracer_ != nullptr && tracer_->active()) {
    tracer_->Add(1, batch.kind.last ? "step" : "batch", std::max(batch.begun, last_end_), end);
  }
  last_end_ = end;
}

void DeviceBackend::set_tracer(Tracer* tracer) {
  tracer_ = tracer;
  if (tracer == nullptr) return;
  (void)launcher_.Run([&] {  // It returns no error.
    tracer->NameThread("launches");
    return absl::OkStatus();
  });
}

// Replacing a profile abandons exchanges that are under way, because their ranks may be gone.
void DeviceBackend::set_device_profile(DeviceProfile* profile) {
  if (profile_ != nullptr) {
    if (Overlaps() && !begun_.empty()) (void)Drop(absl::CancelledError("the training ends"));
    EndProfile();
  }
  profile_ = profile;
  if (profile_ == nullptr) return;
  std::string problem;
  std::vector<std::unique_ptr<DeviceRecorder>> recorders = device_->MakeRecorders(problem);
  profile_->Use(std::move(recorders), std::move(problem));
}

// Also waits for work launched behind the last step. Later calls that wait for that work report its
// errors.
void DeviceBackend::EndProfile() {
  (void)launcher_.Run([&]() -> absl::Status {
    PENSTOCK_RETURN_IF_ERROR(device_->Synchronize(DeviceQueue::kCopy));
    return device_->Synchronize(DeviceQueue::kCompute);
  });
  if (device_->stuck()) return;  // Stop() would wait for recorded work.
  profile_->Stop();
}

bool DeviceBackend::EndsProfile(const Sent& batch) const {
  return profile_ != nullptr && batch.kind.last && profile_->EndsWith(batch.step);
}

// Work on the device that waits for other ranks ends only when their communicator is abandoned.
absl::Status DeviceBackend::Drop(const absl::Status& why, bool broken) {
  broken |= std::any_of(begun_.begin(), begun_.end(), [](const Sent& sent) { return !sent.done; });
  begun_.clear();
  staged_.clear();
  between_steps_ = true;
  if (broken && Overlaps()) {
    state_lost_ = why;
    merge_->ranks().Abandon(why);
  }
  if (broken) device_->LimitWaits(kWaitForBroken);
  const absl::Status ended = launcher_.Run([&]() -> absl::Status {
    const absl::Status copied = device_->Synchronize(DeviceQueue::kCopy);
    const absl::Status exchanged = device_->Synchronize(DeviceQueue::kExchange);
    PENSTOCK_RETURN_IF_ERROR(device_->Synchronize(DeviceQueue::kCompute));
    return copied.ok() ? exchanged : copied;
  });
  device_->LimitWaits(std::nullopt);
  if (broken && Overlaps()) {
    EndGraphs();
    inference_list_ = Lists().Inference(EvaluationSlot());
  }
  return ended;
}

// Must come before the communicator is destroyed, because graphs hold its exchanges.
void DeviceBackend::EndGraphs() {
  (void)launcher_.Run([&] {
    device_->EndGraphs();
    return absl::OkStatus();
  });
  for (auto& lists : lists_) lists = {};
  launches_ = {};
  inference_list_ = {};
}

absl::StatusOr<StepResult> DeviceBackend::RunAlone(const BatchRows& rows,
                                                   const UpdateOptions& update, bool last) {
  PENSTOCK_RETURN_IF_ERROR(CheckIdle());
  PENSTOCK_RETURN_IF_ERROR(Stage(rows, update, last));
  PENSTOCK_RETURN_IF_ERROR(Begin());
  return Finish();
}

absl::StatusOr<StepResult> DeviceBackend::Step(const BatchRows& rows, const UpdateOptions& update) {
  return RunAlone(rows, update, /*last=*/true);
}

absl::StatusOr<double> DeviceBackend::Accumulate(const BatchRows& rows,
                                                 const UpdateOptions& update) {
  PENSTOCK_ASSIGN_OR_RETURN(const StepResult result, RunAlone(rows, update, /*last=*/false));
  return result.loss;
}

absl::Status DeviceBackend::Predict(const BatchRows& rows, std::span<float> predictions,
                                    size_t global_rows) {
  if (global_rows == 0) global_rows = rows.rows;
  PENSTOCK_RETURN_IF_ERROR(CheckIdle());
  PENSTOCK_RETURN_IF_ERROR(CheckRows(rows, global_rows));
  if (global_rows == 0) return absl::OkStatus();
  PENSTOCK_RETURN_IF_ERROR(CheckJudged(results(), rows));
  has_launched_ = true;
  sender_->Fill(rows, global_rows, 0.0f, EvaluationSlot());
  const absl::Status done = launcher_.Run([&]() -> absl::Status {
    PENSTOCK_RETURN_IF_ERROR(inference_list_.Run(*device_, options_.graphs));
    return device_->Synchronize(DeviceQueue::kCompute);
  });
  PENSTOCK_RETURN_IF_ERROR(done);
  sender_->TakePredictions(EvaluationSlot(), global_rows, predictions);
  return absl::OkStatus();
}

absl::Status DeviceBackend::SetState(TrainState state) {
  PENSTOCK_RETURN_IF_ERROR(Drop(absl::CancelledError("another state is set")));
  state_lost_ = absl::OkStatus();
  state_ = std::move(state);
  const absl::Status sent = launcher_.Run([&] { return device_state_->Write(state_); });
  state_is_here_ = sent.ok();
  return sent;
}

absl::StatusOr<const TrainState*> DeviceBackend::State() {
  PENSTOCK_RETURN_IF_ERROR(CheckIdle());
  if (state_is_here_) return &state_;
  PENSTOCK_ASSIGN_OR_RETURN(state_, ReadState());
  state_is_here_ = true;
  return &state_;
}

absl::StatusOr<TrainState> DeviceBackend::ReadState() {
  PENSTOCK_RETURN_IF_ERROR(CheckIdle());
  PENSTOCK_RETURN_IF_ERROR(Annotate(
      state_lost_, "the state is lost, because a step failed while ranks exchanged gradients"));
  absl::StatusOr<TrainState> state;
  PENSTOCK_RETURN_IF_ERROR(
      launcher_.Run([&] { return (state = device_state_->Read(state_.step)).status(); }));
  return state;
}

absl::StatusOr<std::vector<float>> DeviceBackend::ReadGradients() {
  PENSTOCK_RETURN_IF_ERROR(CheckIdle());
  absl::StatusOr<std::vector<float>> gradients;
  PENSTOCK_RETURN_IF_ERROR(
      launcher_.Run([&] { return (gradients = device_state_->ReadGradients()).status(); }));
  return gradients;
}

std::vector<MemoryUse> DeviceBackend::MemoryUses(InputFormat, size_t global_rows) {
  return {
      {"state", 3 * layout_.model().arena_size() * sizeof(float), "as it is saved"},
      {"batches", memory_->host_bytes(), absl::StrCat("page-locked; ", pinned_slots_.Describe())},
      {"predictions", (results() + 1) * global_rows * sizeof(float), "and targets"}};
}

absl::Status DeviceBackend::ChooseGemmPlan() {
  if (!options_.fast_reduction) return absl::OkStatus();
  if (has_launched_) return absl::InternalError("a GEMM plan must be chosen before the first step");
  state_lost_ = absl::FailedPreconditionError("timing products has overwritten the state");
  return launcher_.Run([&]() -> absl::Status {
    const ShardMemory memory = memory_->OfShard(0, 0);
    PENSTOCK_RETURN_IF_ERROR(training_->ChooseFastestProducts(memory, *device_));
    return inference_->ChooseFastestProducts(memory, *device_);
  });
}

// Must precede the first launch: captured graphs keep the algorithms that they were captured with.
absl::Status DeviceBackend::AdoptGemmPlan(const std::string& plan) {
  if (has_launched_) return absl::InternalError("a GEMM plan must be set before the first step");
  if (plan == device_->GemmPlan()) return absl::OkStatus();
  return launcher_.Run([&] { return device_->AdoptGemmPlan(plan); });
}

BackendDescription DeviceBackend::Describe() const {
  return {.place = device_->info().name,
          .numerics = absl::StrCat(device_->info().numerics, options_.bf16 ? " bf16" : " fp32"),
          .math_library = device_->info().math_library,
          .gemm_plan = device_->GemmPlan(),
          .block_rows = slot_.rows(),
          .threads = 1,
          .gpu = true};
}

}  // namespace penstock
