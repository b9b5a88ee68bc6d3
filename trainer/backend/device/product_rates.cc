#include "trainer/backend/device/product_rates.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/status.h"
#include "trainer/backend/device/device_layout.h"
#include "trainer/backend/device/device_list.h"
#include "trainer/backend/device/device_program.h"
#include "trainer/backend/device/product_forms.h"
#include "trainer/backend/device/training_memory.h"
#include "trainer/step/model_program.h"

namespace penstock {
namespace {

constexpr int kRuns = 3;  // The median of these counts.

class Measuring {
 public:
  Measuring(Device& device, size_t repeats) : device_(device), repeats_(repeats) {}

  absl::Status Prepare(const ModelConfig& config, size_t samples, bool bf16);
  absl::StatusOr<std::vector<ProductRate>> Run();

 private:
  absl::StatusOr<ProductRate> Measure(const DeviceOp& op);
  absl::StatusOr<std::optional<ProductRate::Time>> TimeApart(const DeviceOp& op);
  // Time of one round of `ops`.
  absl::StatusOr<ProductRate::Time> TimeOf(const std::vector<DeviceOp>& ops);

  Device& device_;
  const size_t repeats_;
  std::optional<DeviceProgram> program_;
  std::optional<TrainingMemory> memory_;
};

absl::Status Measuring::Prepare(const ModelConfig& config, size_t samples, bool bf16) {
  const DeviceLayout layout(config);
  const InputFormat format = config.is_image() ? ImagesOf(config.side) : kPackedBoards;
  PENSTOCK_ASSIGN_OR_RETURN(
      program_, DeviceProgram::Build(config, layout,
                                     {.format = format, .rows = samples, .bf16 = bf16}, device_));
  memory_.emplace(TrainingSizes{.arena = layout.padded().arena_size(),
                                .shards = 1,
                                .own_shards = 1,
                                .results = config.results(),
                                .slots = 1,
                                .activation_bytes = program_->activation_bytes(),
                                .workspace_bytes = program_->workspace_bytes(),
                                .bf16 = bf16},
                  SlotLayout(format, 1, samples, DropoutSites(config)));
  PENSTOCK_RETURN_IF_ERROR(memory_->plan().Check(device_, 1));
  PENSTOCK_RETURN_IF_ERROR(memory_->Take(device_));
  const ShardMemory memory = memory_->OfShard(0, 0);
  PENSTOCK_RETURN_IF_ERROR(program_->TryProducts(memory, device_));
  return program_->ChooseFastestProducts(memory, device_);
}

absl::StatusOr<std::vector<ProductRate>> Measuring::Run() {
  std::vector<ProductRate> rates;
  for (const DeviceOp& op : program_->OpsOn(memory_->OfShard(0, 0))) {
    if (!IsGemm(op.kind)) continue;
    const auto same = std::find_if(rates.begin(), rates.end(), [&](const ProductRate& rate) {
      return rate.kind == op.kind && rate.rows == op.rows && rate.in == op.in && rate.out == op.out;
    });
    if (same != rates.end()) {
      ++same->count;
      continue;
    }
    PENSTOCK_ASSIGN_OR_RETURN(ProductRate rate, Measure(op));
    rates.push_back(rate);
  }
  return rates;
}

absl::StatusOr<ProductRate> Measuring::Measure(const DeviceOp& op) {
  ProductRate rate{.kind = op.kind, .rows = op.rows, .in = op.in, .out = op.out, .count = 1};
  PENSTOCK_ASSIGN_OR_RETURN(rate.time, TimeOf({op}));
  PENSTOCK_ASSIGN_OR_RETURN(rate.apart, TimeApart(op));
  return rate;
}

absl::StatusOr<std::optional<ProductRate::Time>> Measuring::TimeApart(const DeviceOp& op) {
  const std::vector<DeviceOp> parts = PartsOf(op);
  if (parts.empty() || HasResidual(op)) return std::nullopt;
  PENSTOCK_RETURN_IF_ERROR(device_.Prepare(parts.front()));
  PENSTOCK_ASSIGN_OR_RETURN(const ProductRate::Time time, TimeOf(parts));
  return time;
}

absl::StatusOr<ProductRate::Time> Measuring::TimeOf(const std::vector<DeviceOp>& ops) {
  DeviceList list;
  for (size_t i = 0; i < repeats_; ++i) list.Add(ops);
  for (int i = 0; i < 2; ++i) PENSTOCK_RETURN_IF_ERROR(list.Run(device_, /*graphs=*/true));
  PENSTOCK_RETURN_IF_ERROR(device_.Synchronize(DeviceQueue::kCompute));
  std::array<ProductRate::Time, kRuns> times;
  for (ProductRate::Time& time : times) {
    const auto begin = std::chrono::steady_clock::now();
    PENSTOCK_RETURN_IF_ERROR(list.Run(device_, /*graphs=*/true));
    PENSTOCK_RETURN_IF_ERROR(device_.Synchronize(DeviceQueue::kCompute));
    time = (std::chrono::steady_clock::now() - begin) / double(repeats_);
  }
  std::sort(times.begin(), times.end());
  return times[kRuns / 2];
}

}  // namespace

absl::StatusOr<std::vector<ProductRate>> MeasureProducts(const ModelConfig& config, size_t samples,
                                                         bool bf16, size_t repeats,
                                                         Device& device) {
  Measuring measuring(device, repeats);
  PENSTOCK_RETURN_IF_ERROR(measuring.Prepare(config, samples, bf16));
  return measuring.Run();
}

double RateOf(const std::vector<ProductRate>& products) {
  double flops = 0, seconds = 0;
  for (const ProductRate& product : products) {
    flops += static_cast<double>(product.count) * product.flops();
    seconds += static_cast<double>(product.count) * product.time.count();
  }
  return seconds > 0 ? flops / seconds : 0;
}

}  // namespace penstock
