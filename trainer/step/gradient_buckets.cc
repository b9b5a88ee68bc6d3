#include "trainer/step/gradient_buckets.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace penstock {
namespace {

// Maps the offset of each gradient to the last operation that writes it.
std::map<size_t, size_t> LastWriters(const StepProgram& program) {
  std::map<size_t, size_t> writers;
  for (size_t op = 0; op < program.ops.size(); ++op) {
    for (const Operand& operand : program.ops[op].operands) {
      const Buffer& buffer = program.buffers[operand.buffer];
      if (buffer.arena != Arena::kGradients || operand.access == Access::kRead) continue;
      writers[buffer.offset] = op;
    }
  }
  return writers;
}

}  // namespace

std::vector<GradientRange> WeightGradients(const StepProgram& program) {
  std::vector<GradientRange> weights;
  for (const Op& op : program.ops) {
    if (op.kind != OpKind::kLinearBackwardWeight) continue;
    const Buffer& buffer = program.buffers[op.operands[2].buffer];
    weights.push_back({buffer.offset, buffer.size});
  }
  std::sort(weights.begin(), weights.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return weights;
}

// Works from the end of the arena, which the backward pass reaches first.
std::vector<GradientBucket> CutGradients(const StepProgram& program, size_t size, size_t floats) {
  const std::map<size_t, size_t> writers = LastWriters(program);
  std::vector<GradientBucket> buckets;
  size_t end = size, op = 0;
  for (auto it = writers.rbegin(); it != writers.rend(); ++it) {
    op = std::max(op, it->second);
    const bool is_first = std::next(it) == writers.rend();
    if (!is_first && (floats == 0 || end - it->first < floats)) continue;
    const size_t first = is_first ? 0 : it->first;
    buckets.push_back({first, end - first, op});
    end = first;
    op = 0;
  }
  std::stable_sort(buckets.begin(), buckets.end(),
                   [](const auto& a, const auto& b) { return a.op < b.op; });
  return buckets;
}

}  // namespace penstock
