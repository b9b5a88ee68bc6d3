#include "trainer/input/diagnostic_input.h"

#include <algorithm>
#include <utility>

#include "base/counter_rng.h"
#include "base/status.h"

namespace penstock {

absl::StatusOr<bool> DiagnosticInput::Next(InputBatch& batch) {
  if (step_ < options_.normal_steps) {
    PENSTOCK_ASSIGN_OR_RETURN(const bool more, inner_.Next(batch));
    if (!more) return false;
    if (++step_ + options_.keep > options_.normal_steps) Keep(batch);
    return true;
  }
  if (kept_.empty() || step_ >= options_.normal_steps + options_.memory_steps) return false;
  batch = kept_[(step_++ - options_.normal_steps) % kept_.size()].batch;
  return true;
}

void DiagnosticInput::Keep(const InputBatch& batch) {
  Kept& kept = kept_.emplace_back();
  kept.batch = batch;
  kept.batch.record_ids = {};
  kept.batch.memory = nullptr;  // Bytes of its own are to follow.
  for (const InputTensor& tensor : batch.tensors) {
    kept.bytes.emplace_back(tensor.bytes.begin(), tensor.bytes.end());
  }
  if (options_.synthetic) Randomise(kept);
  for (size_t i = 0; i < kept.bytes.size(); ++i) kept.batch.tensors[i].bytes = kept.bytes[i];
}

// Packed planes take any bits. Scores and decoded planes stay: not every float is a number.
void DiagnosticInput::Randomise(Kept& kept) {
  CounterRng rng(/*key=*/1);
  for (size_t i = 0; i < kept.bytes.size(); ++i) {
    if (kept.batch.tensors[i].dtype != Dtype::kU8) continue;
    std::generate(kept.bytes[i].begin(), kept.bytes[i].end(),
                  [&] { return static_cast<uint8_t>(256 * rng.Uniform()); });
  }
}

}  // namespace penstock
