#include "trainer/backend/device/batch_slot.h"

#include <algorithm>
#include <cstring>

#include "base/counter_rng.h"

namespace penstock {
namespace {

constexpr size_t kAlignment = 256;

size_t Aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Copies `bytes` of `from`, and writes zeros up to `capacity`.
void CopyAndPad(const void* from, size_t bytes, size_t capacity, char* to) {
  if (bytes > 0) std::memcpy(to, from, bytes);
  std::memset(to + bytes, 0, capacity - bytes);
}

}  // namespace

SlotLayout::SlotLayout(InputFormat format, size_t shards, size_t rows, size_t sites)
    : format_(format), shards_(shards), rows_(rows), sites_(sites) {
  const size_t all = shards * rows;
  flags_ = Aligned(all * format.input_bytes);
  targets_ = flags_ + Aligned(all * format.flags_bytes);
  weights_ = targets_ + Aligned(all * sizeof(float));
  draws_ = weights_ + Aligned(all * sizeof(float));
  update_ = draws_ + Aligned(shards * sites * sizeof(DropoutDraw));
  bytes_ = update_ + Aligned(sizeof(reference::UpdateScalars));
}

void SlotLayout::FillInput(const BatchRows& rows, size_t shard, char* slot) const {
  const size_t row_bytes = format_.input_bytes;
  CopyAndPad(rows.input, rows.rows * row_bytes, rows_ * row_bytes, slot + input(shard));
}

void SlotLayout::FillRest(const BatchRows& rows, size_t shard, float weight, char* slot) const {
  const size_t flags_bytes = format_.flags_bytes;
  CopyAndPad(rows.flags, rows.rows * flags_bytes, rows_ * flags_bytes, slot + flags(shard));
  const size_t scored = rows.targets == nullptr ? 0 : rows.rows;
  CopyAndPad(rows.targets, scored * sizeof(float), rows_ * sizeof(float), slot + targets(shard));
  auto* weight_of = reinterpret_cast<float*>(slot + weights(shard));
  std::fill_n(weight_of, scored, weight);
  std::fill_n(weight_of + scored, rows_ - scored, 0.0f);
}

void SlotLayout::SetUpdate(const reference::UpdateScalars& update, char* slot) const {
  std::memcpy(slot + update_, &update, sizeof(update));
}

void SlotLayout::SetDraws(uint64_t random_key, size_t first_row, size_t shard, char* slot) const {
  auto* of_shard = reinterpret_cast<DropoutDraw*>(slot + draws(shard));
  for (size_t site = 0; site < sites_; ++site) {
    of_shard[site] = {.key = DeriveKey(random_key, site), .first_sample = first_row};
  }
}

}  // namespace penstock
