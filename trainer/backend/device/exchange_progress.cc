#include "trainer/backend/device/exchange_progress.h"

#include <atomic>
#include <numeric>
#include <vector>

#include "base/status.h"
#include "trainer/backend/device/host_array.h"

namespace penstock {
namespace {

uint32_t Read(uint32_t* word) { return std::atomic_ref<uint32_t>(*word).load(); }

}  // namespace

void ExchangeProgress::AddMemory(MemoryPlan& plan, size_t buckets, size_t slots) {
  buckets_ = buckets;
  steps_.resize(slots);
  region_ = plan.Add("progress", buckets * sizeof(uint32_t));
}

absl::Status ExchangeProgress::Bind(Device& device, const MemoryPlan& plan) {
  numbers_ = plan.at<uint32_t>(region_);
  PENSTOCK_ASSIGN_OR_RETURN(words_, AllocateHostArray<uint32_t>(device, 2 * steps_.size()));
  for (size_t slot = 0; slot < steps_.size(); ++slot) Begin(slot, 0);
  std::vector<uint32_t> numbers(buckets_);
  std::iota(numbers.begin(), numbers.end(), 1);
  const size_t bytes = buckets_ * sizeof(uint32_t);
  const DeviceOp copy{.kind = DeviceOpKind::kCopy,
                      .operands = {{numbers.data(), bytes, Access::kRead, /*host=*/true},
                                   {numbers_, bytes, Access::kWrite}}};
  PENSTOCK_RETURN_IF_ERROR(device.Run(copy, DeviceQueue::kCompute));
  return device.Synchronize(DeviceQueue::kCompute);
}

DeviceOp ExchangeProgress::Tell(size_t number, uint32_t* word) const {
  return {.kind = DeviceOpKind::kCopy,
          .operands = {{numbers_ + number - 1, sizeof(uint32_t), Access::kRead},
                       {word, sizeof(uint32_t), Access::kWrite, /*host=*/true}}};
}

DeviceOp ExchangeProgress::AtBucket(size_t slot, size_t bucket) const {
  return Tell(bucket + 1, WordsOf(slot));
}

DeviceOp ExchangeProgress::Computed(size_t slot) const { return Tell(1, WordsOf(slot) + 1); }

void ExchangeProgress::Begin(size_t slot, uint64_t step) {
  steps_[slot] = step;
  for (size_t word = 0; word < 2; ++word) {
    std::atomic_ref<uint32_t>(WordsOf(slot)[word]).store(0);
  }
}

bool ExchangeProgress::exchanges(size_t slot) const { return Read(WordsOf(slot)) != 0; }

uint32_t ExchangeProgress::bucket(size_t slot) const {
  const uint32_t word = Read(WordsOf(slot));
  return word == 0 ? 0 : word - 1;
}

bool ExchangeProgress::computed(size_t slot) const { return Read(WordsOf(slot) + 1) != 0; }

}  // namespace penstock
