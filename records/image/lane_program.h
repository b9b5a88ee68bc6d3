// Turns the horizontal pass of a resize into steps for SIMD lanes of 16 bytes.
#ifndef PENSTOCK_RECORDS_IMAGE_LANE_PROGRAM_H_
#define PENSTOCK_RECORDS_IMAGE_LANE_PROGRAM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "records/image/axis_weights.h"

namespace penstock {

// Adds up to four weighted bytes of a window of the input row to each of four adjacent bytes of the
// output row. Tap t of output j is element 4 * j + t.
struct alignas(16) LaneStep {
  uint8_t shuffle[16];  // For each element, the byte of the window.
  int8_t high[16];      // High parts of the weights (SplitWeight); 0 if there is no such tap.
  int16_t low_even[8];  // Low parts of taps 0 and 2.
  int16_t low_odd[8];   // Low parts of taps 1 and 3.
  uint32_t offset;      // Offset of the window in the input row.
};

// The steps for all output bytes, in groups of four bytes. Needs AVX2. Not thread-safe.
class LaneProgram {
 public:
  static constexpr size_t kWindow = 16;  // Bytes that a step reads.
  static constexpr size_t kGroup = 4;    // Output bytes that a step adds to.
  static constexpr size_t kTaps = 4;
  // Filters with more taps would need a program that is too large to pay off: 430 KB for 224 RGB
  // pixels.
  static constexpr size_t kMostTaps = 64;
  // The number of groups is a multiple of this, because this many groups are stored at once.
  static constexpr size_t kGroupsAtOnce = 4;

  // Builds the steps that make `count` pixels with these weights, the last pixel first if `flip`.
  // No window reaches beyond the input row. REQUIRES: row_bytes >= kWindow; weights.max_taps() <=
  // kMostTaps.
  void Build(const AxisWeights& weights, size_t count, size_t channels, bool flip,
             size_t row_bytes);

  std::span<const LaneStep> steps() const { return steps_; }
  // For each group, the end of its steps in steps(). A group has at least one step.
  std::span<const uint32_t> ends() const { return ends_; }
  bool one_step_each() const { return steps_.size() == ends_.size(); }

 private:
  // The taps that must still be added to one output byte. Zeros follow the weights.
  struct Output {
    const int32_t* weight = nullptr;
    size_t left = 0;      // Number of taps that are left.
    size_t position = 0;  // Position of the next tap in the input row.
  };
  using Group = std::array<Output, kGroup>;

  void Reserve(size_t steps);
  void AddGroup(Group& group);
  void AddStep(size_t offset, Group& group);

  size_t channels_ = 0;
  size_t last_offset_ = 0;
  std::vector<LaneStep> steps_;  // Its capacity only grows.
  std::vector<uint32_t> ends_;
};

// Returns the largest memory, in bytes, of a program for `count` pixels with `max_taps` taps each.
uint64_t LaneProgramMemory(uint64_t count, uint64_t channels, uint64_t max_taps);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_LANE_PROGRAM_H_
