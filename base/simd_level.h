// The instruction set that a kernel may use. All levels give the same bits.
#ifndef PENSTOCK_BASE_SIMD_LEVEL_H_
#define PENSTOCK_BASE_SIMD_LEVEL_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"

namespace penstock {

enum class SimdLevel : uint8_t { kScalar, kAvx2, kAvx512 };

// The highest level that this processor supports. kAvx512 means F, BW, DQ, VL and VBMI.
SimdLevel BestSimdLevel();

// All levels from kScalar to BestSimdLevel().
std::vector<SimdLevel> AvailableSimdLevels();

absl::string_view SimdLevelName(SimdLevel level);  // "scalar", "avx2", "avx512"

}  // namespace penstock

#endif  // PENSTOCK_BASE_SIMD_LEVEL_H_
