// Creates a DeviceBackend: checks its options, and takes its memory.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "kernels/cuda/attention_geometry.h"
#include "kernels/numeric/bf16.h"
#include "trainer/backend/device/device_backend.h"
#include "trainer/backend/shard_tree.h"
#include "trainer/step/model_program.h"

namespace penstock {
namespace {

// With CUDA 11.2 a node of a graph takes about this much; newer drivers take less.
constexpr size_t kGraphBytesPerOp = size_t{64} << 10;

// `queues`: whether the ranks' exchanges can be queued.
absl::Status CheckOptions(const DeviceBackendOptions& options, bool queues) {
  if (options.shards == 0 || options.global_rows == 0 || options.steps_per_launch == 0) {
    return absl::InvalidArgumentError(
        "--global-batch-size, --virtual-shards and --steps-per-launch must be positive");
  }
  const size_t ranks = options.ranks == nullptr ? 1 : options.ranks->size();
  if (options.steps_per_launch > 1 && ranks > 1 && !queues) {
    return absl::InvalidArgumentError(
        absl::StrCat("--steps-per-launch ", options.steps_per_launch,
                     " cannot be used by ranks that share a GPU, because "
                     "they exchange gradients through the host in every step; give each rank a "
                     "GPU, or leave it out"));
  }
  return options.fast_reduction ? absl::OkStatus() : CheckShardsAndRanks(options.shards, ranks);
}

bool HasOddHead(const ModelConfig& config) {
  const std::vector<size_t> widths = config.head_widths();
  return std::any_of(widths.begin(), widths.end(),
                     [](size_t width) { return width % kDeviceMultiple != 0; });
}

absl::Status CheckModel(const ModelConfig& config) {
  PENSTOCK_RETURN_IF_ERROR(config.Validate());
  const size_t head = config.head_dim();
  if ((head != 16 && head != 32 && head != 64) || config.dim % 8 != 0 || config.dim > 1024 ||
      config.hidden % 8 != 0 || HasOddHead(config)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "model ", config.name, " cannot run on a GPU: it has dim ", config.dim, ", heads of ", head,
        " and hidden ", config.hidden,
        "; a GPU needs heads of 16, 32 or 64, dim of at most 1024, and multiples of 8"));
  }
  return absl::OkStatus();
}

size_t AttentionShared(const ModelConfig& config, bool bf16) {
  const auto tokens = static_cast<unsigned>(config.tokens());
  const auto head = static_cast<unsigned>(config.head_dim());
  return bf16 ? std::max(cuda::ForwardShared<Bf16>(tokens, head),
                         cuda::BackwardShared<Bf16>(tokens, head))
              : std::max(cuda::ForwardShared<float>(tokens, head),
                         cuda::BackwardShared<float>(tokens, head));
}

// Attention kernels keep a head's rows in a block's shared memory.
absl::Status CheckAttention(const ModelConfig& config, bool bf16, const DeviceInfo& device) {
  const size_t needed = AttentionShared(config, bf16), most = device.block_shared_bytes;
  if (most == 0 || needed <= most) return absl::OkStatus();
  const bool other_fits = AttentionShared(config, !bf16) <= most;
  return absl::InvalidArgumentError(
      absl::StrCat("model ", config.name, " on ", device.name, ": attention of ", config.tokens(),
                   " tokens with heads of ", config.head_dim(), " needs ", (needed + 1023) >> 10,
                   " KiB of shared memory a block in ", bf16 ? "bf16" : "fp32",
                   ", and this GPU has ", most >> 10,
                   other_fits ? absl::StrCat("; give --precision ", bf16 ? "fp32" : "bf16")
                              : "; give another --model or GPU"));
}

std::vector<ShardAddition> TreeFor(const DeviceBackendOptions& options, const DeviceLayout& layout,
                                   size_t shards, size_t ranks) {
  if (options.fast_reduction) return FastTree(shards, ranks);
  return TreeOf(BuildUpdate(layout.padded(), shards));
}

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceBackend>> DeviceBackend::Create(
    const ModelConfig& config, const DeviceBackendOptions& options, std::unique_ptr<Device> device,
    std::unique_ptr<Communicator> gradient_ranks) {
  // Destroyed in this order on an error: the communicator may use a stream of the device.
  std::unique_ptr<Device> own_device = std::move(device);
  std::unique_ptr<Communicator> own_ranks = std::move(gradient_ranks);
  PENSTOCK_RETURN_IF_ERROR(CheckModel(config));
  PENSTOCK_RETURN_IF_ERROR(CheckAttention(config, options.bf16, own_device->info()));
  const bool queues = own_ranks != nullptr && own_ranks->CanQueue();
  PENSTOCK_RETURN_IF_ERROR(CheckOptions(options, queues));
  std::unique_ptr<DeviceBackend> backend(
      new DeviceBackend(config, options, std::move(own_device), std::move(own_ranks)));
  PENSTOCK_RETURN_IF_ERROR(backend->launcher_.Run([&] { return backend->Prepare(); }));
  return backend;
}

DeviceBackend::DeviceBackend(const ModelConfig& config, const DeviceBackendOptions& options,
                             std::unique_ptr<Device> device,
                             std::unique_ptr<Communicator> gradient_ranks)
    : config_(config),
      options_(options),
      layout_(config),
      shards_(ShardsFor(options.shards, options.ranks == nullptr ? 1 : options.ranks->size(),
                        options.fast_reduction)),
      device_(std::move(device)),
      pinned_slots_(*device_),
      ranks_(options.ranks == nullptr ? alone_ : *options.ranks),
      gradient_ranks_(std::move(gradient_ranks)),
      merge_(GradientMerge::Make(gradient_ranks_ == nullptr ? ranks_ : *gradient_ranks_,
                                 TreeFor(options, layout_, shards_, ranks_.size()), shards_,
                                 layout_.padded().arena_size(),
                                 options.fast_reduction ? options.wire : WireFloat::kFp32)),
      slot_(options.format, merge_->num_shards(), (options.global_rows + shards_ - 1) / shards_,
            DropoutSites(config)),
      state_(layout_.model().arena_size()) {}

absl::Status DeviceBackend::Prepare() {
  DeviceProgram::Options program{
      .format = options_.format, .rows = slot_.rows(), .bf16 = options_.bf16};
  PENSTOCK_ASSIGN_OR_RETURN(training_, DeviceProgram::Build(config_, layout_, program, *device_));
  program.purpose = DeviceProgram::Purpose::kInference;
  PENSTOCK_ASSIGN_OR_RETURN(inference_, DeviceProgram::Build(config_, layout_, program, *device_));
  memory_.emplace(Sizes(), slot_);
  FindBuckets();
  merge_->AddMemory(memory_->plan(), LargestBucket());
  if (Overlaps()) progress_.AddMemory(memory_->plan(), buckets_.size(), EvaluationSlot());
  PENSTOCK_RETURN_IF_ERROR(ReserveMemory());
  if (options_.on_memory) options_.on_memory(memory_->plan().uses());
  PENSTOCK_RETURN_IF_ERROR(memory_->plan().Check(*device_, options_.memory_fraction));
  PENSTOCK_RETURN_IF_ERROR(memory_->Take(*device_));
  PENSTOCK_RETURN_IF_ERROR(TryProducts());
  PENSTOCK_RETURN_IF_ERROR(merge_->Bind(*device_, memory_->plan(), memory_->gradients()));
  if (Overlaps()) PENSTOCK_RETURN_IF_ERROR(progress_.Bind(*device_, memory_->plan()));
  sender_.emplace(*device_, *memory_, pinned_slots_,
                  ShardRows{.shards = shards_,
                            .first = merge_->first_shard(),
                            .own = merge_->num_shards(),
                            .rank = ranks_.rank(),
                            .ranks = ranks_.size()});
  lists_.resize(EvaluationSlot());
  inference_list_ = Lists().Inference(EvaluationSlot());
  device_state_.emplace(*device_, layout_, *memory_);
  return device_state_->Prepare();
}

// Libraries have taken most of their memory by now, because the ranks are connected already.
absl::Status DeviceBackend::ReserveMemory() {
  PENSTOCK_ASSIGN_OR_RETURN(const uint64_t free, device_->FreeBytes());
  const uint64_t before = device_->info().free_bytes;
  memory_->plan().Reserve("libraries", before - std::min(free, before),
                          "taken since the GPU was opened");
  const size_t ops = OpsInGraphs();
  memory_->plan().Reserve("graphs", ops * kGraphBytesPerOp,
                          ops == 0 ? "none" : absl::StrCat("up to, for ", ops, " operations"));
  return absl::OkStatus();
}

// Each slot has a graph, or shares one with its group. Operations outside the shards are few,
// and not counted.
size_t DeviceBackend::OpsInGraphs() const {
  if (!options_.graphs) return 0;
  return merge_->num_shards() * (EvaluationSlot() * training_->num_ops() + inference_->num_ops());
}

// Overwrites memory, which nothing uses yet.
absl::Status DeviceBackend::TryProducts() {
  const ShardMemory memory = memory_->OfShard(0, 0);
  PENSTOCK_RETURN_IF_ERROR(training_->TryProducts(memory, *device_));
  return inference_->TryProducts(memory, *device_);
}

void DeviceBackend::FindBuckets() {
  const size_t arena = layout_.padded().arena_size();
  buckets_ = training_->Buckets(arena, Overlaps() ? options_.bucket_floats : 0);
}

size_t DeviceBackend::LargestBucket() const {
  size_t largest = 0;
  for (const GradientBucket& bucket : buckets_) largest = std::max(largest, bucket.count);
  return largest;
}

TrainingSizes DeviceBackend::Sizes() {
  const size_t arena = layout_.padded().arena_size();
  return {
      .arena = arena,
      .shards = shards_,
      .own_shards = merge_->num_shards(),
      .results = results(),
      .slots = EvaluationSlot() + 1,
      .decays = layout_.Decays().size(),
      .activation_bytes = std::max(training_->activation_bytes(), inference_->activation_bytes()),
      .workspace_bytes = std::max({training_->workspace_bytes(), inference_->workspace_bytes(),
                                   device_->Workspace(GradientNormOf(arena))}),
      .bf16 = options_.bf16};
}

}  // namespace penstock
