#include "trainer/input/diagnostic_input.h"

#include <algorithm>
#include <memory>
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
  batch = kept_[(step_++ - options_.normal_steps) % kept_.size()];
  return true;
}

void DiagnosticInput::Keep(InputBatch batch) {
  auto memory = std::make_shared<std::vector<std::vector<uint8_t>>>();
  CounterRng rng(/*key=*/1);
  for (TensorView& tensor : batch.tensors) {
    std::vector<uint8_t>& bytes = memory->emplace_back(tensor.bytes.begin(), tensor.bytes.end());
    // Packed planes accept any bits. Scores and decoded planes stay, because random bits may be
    // NaN.
    if (options_.synthetic && tensor.dtype == Dtype::kU8) {
      std::generate(bytes.begin(), bytes.end(),
                    [&] { return static_cast<uint8_t>(256 * rng.Uniform()); });
    }
    tensor.bytes = bytes;
  }
  batch.record_ids = {};
  batch.memory = std::move(memory);
  kept_.push_back(std::move(batch));
}

}  // namespace penstock
