#include "trainer/step/arena_plan.h"

#include <algorithm>
#include <limits>

namespace penstock {
namespace {

constexpr size_t kAlignment = 16;  // In elements.

struct LiveRange {
  BufferId buffer;
  // The first and the last operation that use the buffer.
  size_t first = std::numeric_limits<size_t>::max();
  size_t last = 0;

  bool Overlaps(const LiveRange& other) const { return first <= other.last && other.first <= last; }
};

std::vector<LiveRange> FindLiveRanges(const StepProgram& program) {
  std::vector<LiveRange> ranges(program.buffers.size());
  for (size_t op = 0; op < program.ops.size(); ++op) {
    for (const Operand& operand : program.ops[op].operands) {
      LiveRange& range = ranges[operand.buffer];
      range.buffer = operand.buffer;
      range.first = std::min(range.first, op);
      range.last = std::max(range.last, op);
    }
  }
  std::erase_if(ranges, [&](const LiveRange& range) {
    return range.first > range.last || program.buffers[range.buffer].arena != Arena::kActivations;
  });
  return ranges;
}

// Returns the lowest offset at which `size` elements overlap nothing in `taken` (sorted by offset).
size_t LowestGap(const std::vector<const Buffer*>& taken, size_t size) {
  size_t offset = 0;
  for (const Buffer* buffer : taken) {
    if (offset + size <= buffer->offset) break;
    const size_t end = buffer->offset + buffer->size;
    offset = std::max(offset, (end + kAlignment - 1) / kAlignment * kAlignment);
  }
  return offset;
}

bool Conflict(const StepProgram& program, const Operand& a, const Operand& b) {
  if (a.access == Access::kRead && b.access == Access::kRead) return false;
  const Buffer& x = program.buffers[a.buffer];
  const Buffer& y = program.buffers[b.buffer];
  return x.arena == y.arena && x.offset < y.offset + y.size && y.offset < x.offset + x.size;
}

bool Conflict(const StepProgram& program, const Op& a, const Op& b) {
  for (const Operand& x : a.operands) {
    for (const Operand& y : b.operands) {
      if (Conflict(program, x, y)) return true;
    }
  }
  return false;
}

}  // namespace

void PlaceActivations(StepProgram& program) {
  std::vector<LiveRange> ranges = FindLiveRanges(program);
  // Placing large buffers first leaves the smallest gaps (Pisarchyk, Lee, arXiv:2001.03288).
  std::stable_sort(ranges.begin(), ranges.end(), [&](const LiveRange& a, const LiveRange& b) {
    return program.buffers[a.buffer].size > program.buffers[b.buffer].size;
  });
  program.activation_size = 0;
  for (size_t i = 0; i < ranges.size(); ++i) {
    std::vector<const Buffer*> taken;
    for (size_t j = 0; j < i; ++j) {
      if (ranges[i].Overlaps(ranges[j])) taken.push_back(&program.buffers[ranges[j].buffer]);
    }
    std::sort(taken.begin(), taken.end(),
              [](const Buffer* a, const Buffer* b) { return a->offset < b->offset; });
    Buffer& buffer = program.buffers[ranges[i].buffer];
    buffer.offset = LowestGap(taken, buffer.size);
    program.activation_size = std::max(program.activation_size, buffer.offset + buffer.size);
  }
}

void OrderConflicts(StepProgram& program) {
  // reached[i][j]: j is known to precede i.
  std::vector<std::vector<bool>> reached(program.ops.size());
  for (uint32_t i = 0; i < program.ops.size(); ++i) {
    Op& op = program.ops[i];
    op.after.clear();
    reached[i].resize(i);
    for (uint32_t j = i; j-- > 0;) {
      if (reached[i][j] || !Conflict(program, op, program.ops[j])) continue;
      op.after.push_back(j);
      reached[i][j] = true;
      for (uint32_t k = 0; k < j; ++k) reached[i][k] = reached[i][k] || reached[j][k];
    }
    std::reverse(op.after.begin(), op.after.end());
  }
}

}  // namespace penstock
