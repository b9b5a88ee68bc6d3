// The options that fix the order of an epoch, besides the data.
#ifndef PENSTOCK_CLIENT_PLAN_PLAN_OPTIONS_H_
#define PENSTOCK_CLIENT_PLAN_PLAN_OPTIONS_H_

#include <cstdint>

#include "records/dataset/split.h"

namespace penstock {

// Maximum number of chunks in a window. Servers refuse larger ones.
inline constexpr uint32_t kMaxWindowChunks = 4096;

struct PlanOptions {
  Split split = Split::kTrain;
  uint64_t seed = 0;
  bool shuffle = true;
  uint32_t lanes = 64;          // L
  uint32_t window_chunks = 16;  // K, at most kMaxWindowChunks
  uint32_t strip_rows = 0;      // S. 0 means min(16, mean window rows / 16), but at least 1.
  // A window also closes before it would pass this many bytes.
  uint64_t max_window_bytes = uint64_t{64} << 20;
};

// The rule for the rows after the last full step of an epoch.
enum class Remainder : uint8_t {
  kDrop,   // They are left out.
  kShort,  // They form a shorter step.
  // They begin the next epoch's first step. Those of the last epoch form a short step.
  kCarry,
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_PLAN_PLAN_OPTIONS_H_
