#include "trainer/backend/cuda/cuda_backend.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/reference/adamw.h"
#include "kernels/reference/loss.h"
#include "records/base/status.h"
#include "trainer/backend/shard_tree.h"
#include "trainer/comm/row_gather.h"
#include "trainer/step/board_program.h"

namespace penstock {
namespace {

// Events: that a slot has arrived, and that its work is done.
DeviceEvent ArrivalOf(size_t slot) { return 2 * slot; }
DeviceEvent ReleaseOf(size_t slot) { return 2 * slot + 1; }

absl::Status CheckModel(const BoardModelConfig& config) {
  PENSTOCK_RETURN_IF_ERROR(config.Validate());
  const size_t head = config.head_dim();
  if ((head != 16 && head != 32 && head != 64) || config.dim % 8 != 0 || config.dim > 1024 ||
      config.hidden % 8 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("model ", config.name, ": dim ", config.dim, ", heads of ", head, ", hidden ",
                     config.hidden,
                     ": on a GPU heads are 16, 32 or 64 wide, dim is at most 1024, and dim and "
                     "hidden are multiples of 8"));
  }
  return absl::OkStatus();
}

std::vector<ShardAddition> TreeFor(const CudaBackendOptions& options, const DeviceLayout& layout,
                                   size_t shards, size_t ranks) {
  if (options.fast_reduction) return FastTree(shards, ranks);
  return TreeOf(BuildUpdate(layout.padded(), shards));
}

}  // namespace

absl::StatusOr<std::unique_ptr<CudaBackend>> CudaBackend::Create(
    const BoardModelConfig& config, const CudaBackendOptions& options,
    std::unique_ptr<Device> device, std::unique_ptr<Communicator> gradient_ranks) {
  PENSTOCK_RETURN_IF_ERROR(CheckModel(config));
  if (options.shards == 0 || options.global_rows == 0) {
    return absl::InvalidArgumentError("a batch needs at least one row and one virtual shard");
  }
  if (options.ranks != nullptr && !options.fast_reduction) {
    PENSTOCK_RETURN_IF_ERROR(CheckShardsAndRanks(options.shards, options.ranks->size()));
  }
  std::unique_ptr<CudaBackend> backend(
      new CudaBackend(config, options, std::move(device), std::move(gradient_ranks)));
  PENSTOCK_RETURN_IF_ERROR(backend->launcher_.Run([&] { return backend->Prepare(); }));
  return backend;
}

CudaBackend::CudaBackend(const BoardModelConfig& config, const CudaBackendOptions& options,
                         std::unique_ptr<Device> device,
                         std::unique_ptr<Communicator> gradient_ranks)
    : config_(config),
      options_(options),
      layout_(config),
      shards_(ShardsFor(options.shards, options.ranks == nullptr ? 1 : options.ranks->size(),
                        options.fast_reduction)),
      device_(std::move(device)),
      ranks_(options.ranks == nullptr ? alone_ : *options.ranks),
      gradient_ranks_(std::move(gradient_ranks)),
      merge_(gradient_ranks_ == nullptr ? ranks_ : *gradient_ranks_,
             TreeFor(options, layout_, shards_, ranks_.size()), shards_,
             layout_.padded().arena_size()),
      slot_(options.format, merge_.num_shards(), (options.global_rows + shards_ - 1) / shards_),
      state_(layout_.model().arena_size()) {}

CudaBackend::~CudaBackend() {
  // Nothing may still run on memory that goes with the device; an error has nobody left to tell.
  (void)launcher_.Run([&]() -> absl::Status {
    (void)device_->Synchronize(DeviceQueue::kCopy);
    return device_->Synchronize(DeviceQueue::kCompute);
  });
}

absl::Status CudaBackend::Prepare() {
  DeviceProgram::Options program{
      .format = options_.format, .rows = slot_.rows(), .bf16 = options_.bf16};
  PENSTOCK_ASSIGN_OR_RETURN(training_, DeviceProgram::Build(config_, layout_, program, *device_));
  program.purpose = DeviceProgram::Purpose::kInference;
  PENSTOCK_ASSIGN_OR_RETURN(inference_, DeviceProgram::Build(config_, layout_, program, *device_));
  PlanMemory();
  if (options_.on_memory) options_.on_memory(memory_.uses());
  PENSTOCK_RETURN_IF_ERROR(memory_.Check(*device_, options_.memory_fraction));
  PENSTOCK_RETURN_IF_ERROR(TakeMemory());
  return BuildLists();
}

void CudaBackend::PlanMemory() {
  const size_t count = layout_.padded().arena_size(), arena = count * sizeof(float);
  const size_t own = merge_.num_shards();
  const DeviceOp norm{.kind = DeviceOpKind::kGradientNorm, .count = count};
  regions_.parameters = memory_.Add("parameters", arena, "fp32");
  regions_.copies = memory_.Add("copies", options_.bf16 ? count * sizeof(Bf16) : 0,
                                options_.bf16 ? "of the parameters, bf16" : "none in fp32");
  regions_.moments = memory_.Add("moments", 2 * arena);
  regions_.gradients =
      memory_.Add("gradients", own * arena, absl::StrCat(own, " of ", shards_, " virtual shards"));
  regions_.activations = memory_.Add(
      "activations", std::max(training_->activation_bytes(), inference_->activation_bytes()),
      absl::StrCat(slot_.rows(), " samples at a time, ", options_.bf16 ? "bf16" : "fp32"));
  regions_.workspace =
      memory_.Add("workspace", std::max({training_->workspace_bytes(),
                                         inference_->workspace_bytes(), device_->Workspace(norm)}));
  regions_.slots = memory_.Add("batches", kSlots * slot_.bytes(), absl::StrCat(kSlots, " slots"));
  regions_.predictions = memory_.Add("predictions", own * slot_.rows() * sizeof(float));
  regions_.norm = memory_.Add("norm", sizeof(double));
  regions_.decays = memory_.Add("decays", layout_.Decays().size());
  merge_.AddMemory(memory_);
}

absl::Status CudaBackend::TakeMemory() {
  PENSTOCK_RETURN_IF_ERROR(memory_.Take(*device_));
  for (char*& slot : host_slots_) {
    PENSTOCK_ASSIGN_OR_RETURN(void* memory, device_->AllocateHost(slot_.bytes()));
    slot = static_cast<char*>(memory);
    std::fill_n(slot, slot_.bytes(), char{0});
  }
  PENSTOCK_ASSIGN_OR_RETURN(
      void* predictions, device_->AllocateHost(merge_.num_shards() * slot_.rows() * sizeof(float)));
  host_predictions_ = static_cast<float*>(predictions);
  PENSTOCK_ASSIGN_OR_RETURN(void* norm, device_->AllocateHost(sizeof(double)));
  host_norm_ = static_cast<double*>(norm);
  PENSTOCK_RETURN_IF_ERROR(merge_.Bind(*device_, memory_, memory_.at<float>(regions_.gradients)));
  const std::vector<uint8_t> decays = layout_.Decays();
  return CopyToDevice(decays.data(), decays.size(), memory_.at(regions_.decays));
}

ShardMemory CudaBackend::MemoryOf(size_t slot, size_t shard) const {
  char* batch = memory_.at(regions_.slots) + slot * slot_.bytes();
  return {
      .parameters = memory_.at<float>(regions_.parameters),
      .copies = options_.bf16 ? memory_.at<Bf16>(regions_.copies) : nullptr,
      .gradients = memory_.at<float>(regions_.gradients) + shard * layout_.padded().arena_size(),
      .activations = memory_.at(regions_.activations),
      .input = batch + slot_.planes(shard),
      .flags = batch + slot_.flags(shard),
      .targets = reinterpret_cast<float*>(batch + slot_.targets(shard)),
      .weights = reinterpret_cast<float*>(batch + slot_.weights(shard)),
      .predictions = memory_.at<float>(regions_.predictions) + shard * slot_.rows(),
      .workspace = memory_.at(regions_.workspace)};
}

DeviceOp CudaBackend::CopyResults(MemoryPlan::Region from, size_t bytes, void* to) const {
  return {.kind = DeviceOpKind::kCopy,
          .operands = {{memory_.at(from), bytes, Access::kRead},
                       {to, bytes, Access::kWrite, /*host=*/true}}};
}

std::vector<DeviceOp> CudaBackend::UpdateOps(size_t slot) const {
  const size_t count = layout_.padded().arena_size(), bytes = count * sizeof(float);
  float* moments = memory_.at<float>(regions_.moments);
  DeviceOp norm{.kind = DeviceOpKind::kGradientNorm,
                .count = count,
                .operands = {{memory_.at(regions_.gradients), bytes, Access::kRead},
                             {memory_.at(regions_.norm), sizeof(double), Access::kWrite}}};
  norm.workspace = {memory_.at(regions_.workspace), device_->Workspace(norm), Access::kWrite};
  char* update = memory_.at(regions_.slots) + slot * slot_.bytes() + slot_.update();
  DeviceOp adamw{.kind = DeviceOpKind::kAdamw,
                 .count = count,
                 .operands = {{update, sizeof(reference::UpdateScalars), Access::kRead},
                              {memory_.at(regions_.norm), sizeof(double), Access::kRead},
                              {memory_.at(regions_.decays), layout_.Decays().size(), Access::kRead},
                              {memory_.at(regions_.gradients), bytes, Access::kRead},
                              {memory_.at(regions_.parameters), bytes, Access::kReadWrite},
                              {moments, bytes, Access::kReadWrite},
                              {moments + count, bytes, Access::kReadWrite}}};
  if (options_.bf16) {
    adamw.operands.push_back({memory_.at(regions_.copies), count * sizeof(Bf16), Access::kWrite});
  }
  return {std::move(norm), std::move(adamw),
          CopyResults(regions_.norm, sizeof(double), host_norm_)};
}

CudaBackend::StepLists CudaBackend::TrainingLists(size_t slot) const {
  auto append = [](std::vector<DeviceOp>& list, std::vector<DeviceOp> more) {
    std::move(more.begin(), more.end(), std::back_inserter(list));
  };
  const size_t bytes = layout_.padded().arena_size() * sizeof(float);
  std::vector<DeviceOp> first, last;
  for (size_t shard = 0; shard < merge_.num_shards(); ++shard) {
    const ShardMemory memory = MemoryOf(slot, shard);
    first.push_back(
        {.kind = DeviceOpKind::kZero, .operands = {{memory.gradients, bytes, Access::kWrite}}});
    append(first, training_->OpsOn(memory));
  }
  first.push_back(CopyResults(
      regions_.predictions, merge_.num_shards() * slot_.rows() * sizeof(float), host_predictions_));
  append(first, merge_.BeforeExchange());
  append(last, merge_.AfterGather());
  append(last, UpdateOps(slot));
  if (ranks_.size() == 1) {
    append(first, std::move(last));
    return {DeviceList(std::move(first)), {}, {}};
  }
  return {DeviceList(std::move(first)), DeviceList(merge_.BeforeGather()),
          DeviceList(std::move(last))};
}

DeviceList CudaBackend::InferenceList(size_t slot) const {
  std::vector<DeviceOp> list;
  for (size_t shard = 0; shard < merge_.num_shards(); ++shard) {
    std::vector<DeviceOp> ops = inference_->OpsOn(MemoryOf(slot, shard));
    std::move(ops.begin(), ops.end(), std::back_inserter(list));
  }
  list.push_back(CopyResults(
      regions_.predictions, merge_.num_shards() * slot_.rows() * sizeof(float), host_predictions_));
  return DeviceList(std::move(list));
}

absl::Status CudaBackend::BuildLists() {
  for (size_t slot = 0; slot < kSlots; ++slot) {
    training_lists_[slot] = TrainingLists(slot);
    inference_lists_[slot] = InferenceList(slot);
  }
  return absl::OkStatus();
}

CudaBackend::Range CudaBackend::RowsOf(size_t shard, size_t global_rows) const {
  const size_t number = merge_.first_shard() + shard;
  const size_t own = FirstRowOf(ranks_.rank(), ranks_.size(), global_rows);
  const size_t first = number * global_rows / shards_;
  return {first - own, (number + 1) * global_rows / shards_ - first};
}

absl::Status CudaBackend::CheckRows(const BoardRows& rows, size_t global_rows) const {
  if (rows.rows > 0 && rows.format != options_.format) {
    return absl::InvalidArgumentError("a batch of another --dtype than the backend was made for");
  }
  if (global_rows <= options_.global_rows) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a batch of ", global_rows,
                                                 " rows, where the backend was made for ",
                                                 options_.global_rows, " at most"));
}

absl::Status CudaBackend::SendSlot(size_t slot) {
  char* to = memory_.at(regions_.slots) + slot * slot_.bytes();
  const DeviceOp copy{.kind = DeviceOpKind::kCopy,
                      .operands = {{host_slots_[slot], slot_.bytes(), Access::kRead, /*host=*/true},
                                   {to, slot_.bytes(), Access::kWrite}}};
  PENSTOCK_RETURN_IF_ERROR(device_->Wait(ReleaseOf(slot), DeviceQueue::kCopy));
  PENSTOCK_RETURN_IF_ERROR(device_->Run(copy, DeviceQueue::kCopy));
  PENSTOCK_RETURN_IF_ERROR(device_->Record(ArrivalOf(slot), DeviceQueue::kCopy));
  return device_->Wait(ArrivalOf(slot), DeviceQueue::kCompute);
}

absl::StatusOr<size_t> CudaBackend::Upload(const BoardRows& rows, size_t global_rows,
                                           const UpdateOptions* update) {
  const PhaseScope phase(recorder_, Phase::kHostToDevice);
  const size_t slot = std::exchange(next_slot_, (next_slot_ + 1) % kSlots);
  const float weight = 1.0f / static_cast<float>(global_rows);
  for (size_t shard = 0; shard < merge_.num_shards(); ++shard) {
    const Range range = RowsOf(shard, global_rows);
    slot_.Fill(rows.Slice(range.first, range.count), shard, weight, host_slots_[slot]);
  }
  if (update != nullptr) {
    slot_.SetUpdate({reference::AdamwScalars<float>::ForStep(state_.step + 1, update->learning_rate,
                                                             update->decay_rate, 1.0),
                     static_cast<float>(update->clip_norm)},
                    host_slots_[slot]);
  }
  PENSTOCK_RETURN_IF_ERROR(launcher_.Run([&] { return SendSlot(slot); }));
  return slot;
}

absl::Status CudaBackend::RunAndWait(DeviceList& list) {
  {
    const PhaseScope phase(recorder_, Phase::kLaunch);
    PENSTOCK_RETURN_IF_ERROR(launcher_.Run([&] { return list.Run(*device_, options_.graphs); }));
  }
  const PhaseScope phase(recorder_, Phase::kCompute);
  return launcher_.Run([&] { return device_->Synchronize(DeviceQueue::kCompute); });
}

void CudaBackend::TakePredictions(size_t global_rows, std::span<float> predictions) const {
  for (size_t shard = 0; shard < merge_.num_shards(); ++shard) {
    const Range range = RowsOf(shard, global_rows);
    std::copy_n(host_predictions_ + shard * slot_.rows(), range.count,
                predictions.data() + range.first);
  }
}

absl::StatusOr<double> CudaBackend::GatherLoss(const BoardRows& rows, size_t global_rows) {
  const PhaseScope phase(ranks_.size() > 1 ? recorder_ : nullptr, Phase::kCollective);
  const size_t first = FirstRowOf(ranks_.rank(), ranks_.size(), global_rows);
  predictions_.resize(global_rows);
  scores_.resize(global_rows);
  own_predictions_ = std::span<const float>(predictions_).subspan(first, rows.rows);
  TakePredictions(global_rows, std::span<float>(predictions_).subspan(first, rows.rows));
  std::copy_n(rows.scores, rows.rows, scores_.data() + first);
  const std::span<float> arrays[] = {predictions_, scores_};
  PENSTOCK_RETURN_IF_ERROR(GatherRows(ranks_, arrays));
  return reference::SquaredErrorSum(predictions_.data(), scores_.data(), global_rows) /
         static_cast<double>(global_rows);
}

// With several ranks the loss is known before anything is changed. With one the kernel of the
// update leaves the state as it is if the norm is not finite, and no loss is infinite without its
// gradient.
absl::Status CudaBackend::RunStep(size_t slot, const BoardRows& rows, size_t global_rows,
                                  StepResult& result) {
  StepLists& lists = training_lists_[slot];
  PENSTOCK_RETURN_IF_ERROR(RunAndWait(lists.first));
  PENSTOCK_ASSIGN_OR_RETURN(result.loss, GatherLoss(rows, global_rows));
  if (ranks_.size() == 1) return absl::OkStatus();
  PENSTOCK_RETURN_IF_ERROR(CheckFinite(state_.step, {result.loss, 0}));
  {
    const PhaseScope phase(recorder_, Phase::kCollective);
    PENSTOCK_RETURN_IF_ERROR(merge_.Exchange());
  }
  PENSTOCK_RETURN_IF_ERROR(RunAndWait(lists.middle));
  {
    const PhaseScope phase(recorder_, Phase::kCollective);
    PENSTOCK_RETURN_IF_ERROR(merge_.Gather());
  }
  return RunAndWait(lists.last);
}

absl::StatusOr<StepResult> CudaBackend::Step(const BoardRows& rows, const UpdateOptions& update) {
  const size_t global_rows = update.global_rows == 0 ? rows.rows : update.global_rows;
  if (global_rows == 0 || (rows.rows > 0 && rows.scores == nullptr)) {
    return absl::InvalidArgumentError("a training step needs rows and their scores");
  }
  PENSTOCK_RETURN_IF_ERROR(CheckRows(rows, global_rows));
  const TraceScope scope(tracer_, 1, "step");
  ranks_.Mark(state_.step, 0);
  if (gradient_ranks_ != nullptr) gradient_ranks_->Mark(state_.step, 0);
  PENSTOCK_ASSIGN_OR_RETURN(const size_t slot, Upload(rows, global_rows, &update));
  StepResult result;
  PENSTOCK_RETURN_IF_ERROR(RunStep(slot, rows, global_rows, result));
  PENSTOCK_RETURN_IF_ERROR(
      launcher_.Run([&] { return device_->Record(ReleaseOf(slot), DeviceQueue::kCompute); }));
  result.gradient_norm = *host_norm_;
  PENSTOCK_RETURN_IF_ERROR(CheckFinite(state_.step, result));
  state_is_here_ = false;
  ++state_.step;
  return result;
}

absl::Status CudaBackend::Predict(const BoardRows& rows, std::span<float> predictions,
                                  size_t global_rows) {
  if (global_rows == 0) global_rows = rows.rows;
  PENSTOCK_RETURN_IF_ERROR(CheckRows(rows, global_rows));
  if (global_rows == 0) return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(const size_t slot, Upload(rows, global_rows, nullptr));
  PENSTOCK_RETURN_IF_ERROR(RunAndWait(inference_lists_[slot]));
  PENSTOCK_RETURN_IF_ERROR(
      launcher_.Run([&] { return device_->Record(ReleaseOf(slot), DeviceQueue::kCompute); }));
  TakePredictions(global_rows, predictions);
  return absl::OkStatus();
}

absl::Status CudaBackend::CopyToDevice(const void* from, size_t bytes, void* to) {
  const DeviceOp copy{.kind = DeviceOpKind::kCopy,
                      .operands = {{const_cast<void*>(from), bytes, Access::kRead, true},
                                   {to, bytes, Access::kWrite}}};
  PENSTOCK_RETURN_IF_ERROR(device_->Run(copy, DeviceQueue::kCompute));
  return device_->Synchronize(DeviceQueue::kCompute);
}

absl::Status CudaBackend::CopyToHost(const void* from, size_t bytes, void* to) {
  const DeviceOp copy{.kind = DeviceOpKind::kCopy,
                      .operands = {{const_cast<void*>(from), bytes, Access::kRead},
                                   {to, bytes, Access::kWrite, true}}};
  PENSTOCK_RETURN_IF_ERROR(device_->Run(copy, DeviceQueue::kCompute));
  return device_->Synchronize(DeviceQueue::kCompute);
}

absl::StatusOr<std::vector<float>> CudaBackend::ReadArena(const float* from) {
  std::vector<float> arena(layout_.padded().arena_size());
  PENSTOCK_RETURN_IF_ERROR(
      launcher_.Run([&] { return CopyToHost(from, arena.size() * sizeof(float), arena.data()); }));
  return layout_.Unpad(arena);
}

absl::Status CudaBackend::SetState(TrainState state) {
  state_ = std::move(state);
  state_is_here_ = false;
  const size_t count = layout_.padded().arena_size(), bytes = count * sizeof(float);
  const std::vector<float> parameters = layout_.Pad(state_.parameters), m = layout_.Pad(state_.m),
                           v = layout_.Pad(state_.v);
  float* moments = memory_.at<float>(regions_.moments);
  const absl::Status sent = launcher_.Run([&]() -> absl::Status {
    PENSTOCK_RETURN_IF_ERROR(
        CopyToDevice(parameters.data(), bytes, memory_.at(regions_.parameters)));
    PENSTOCK_RETURN_IF_ERROR(CopyToDevice(m.data(), bytes, moments));
    PENSTOCK_RETURN_IF_ERROR(CopyToDevice(v.data(), bytes, moments + count));
    if (!options_.bf16) return absl::OkStatus();
    const std::vector<Bf16> copies = ToBf16(parameters);
    return CopyToDevice(copies.data(), count * sizeof(Bf16), memory_.at(regions_.copies));
  });
  state_is_here_ = sent.ok();
  return sent;
}

absl::StatusOr<const TrainState*> CudaBackend::State() {
  if (state_is_here_) return &state_;
  PENSTOCK_ASSIGN_OR_RETURN(state_, ReadState());
  state_is_here_ = true;
  return &state_;
}

absl::StatusOr<TrainState> CudaBackend::ReadState() {
  TrainState state;
  state.step = state_.step;
  const float* moments = memory_.at<float>(regions_.moments);
  PENSTOCK_ASSIGN_OR_RETURN(state.parameters, ReadArena(memory_.at<float>(regions_.parameters)));
  PENSTOCK_ASSIGN_OR_RETURN(state.m, ReadArena(moments));
  PENSTOCK_ASSIGN_OR_RETURN(state.v, ReadArena(moments + layout_.padded().arena_size()));
  return state;
}

absl::StatusOr<std::vector<float>> CudaBackend::ReadGradients() {
  return ReadArena(memory_.at<float>(regions_.gradients));
}

std::vector<MemoryUse> CudaBackend::MemoryUses(BoardFormat, size_t global_rows) {
  return {{"state", 3 * layout_.model().arena_size() * sizeof(float), "as it is saved"},
          {"batches", kSlots * slot_.bytes(), "page-locked"},
          {"predictions", 2 * global_rows * sizeof(float), "and scores"}};
}

BackendDescription CudaBackend::Describe() const {
  return {.place = device_->info().name,
          .numerics = absl::StrCat(device_->info().numerics, options_.bf16 ? " bf16" : " fp32"),
          .math_library = device_->info().math_library,
          .gemm_plan = device_->GemmPlan(),
          .block_rows = slot_.rows(),
          .threads = 1};
}

}  // namespace penstock
