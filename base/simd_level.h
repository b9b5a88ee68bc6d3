// Which instruction set a kernel may use. Every level gives the same bits.
#ifndef PENSTOCK_BASE_SIMD_LEVEL_H_
#define PENSTOCK_BASE_SIMD_LEVEL_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"

namespace penstock {

enum class SimdLevel : uint8_t { kScalar, kAvx2, kAvx512 };

// The highest level that this processor has. kAvx512 means F, BW, DQ, VL and VBMI.
SimdLevel BestSimdLevel();

// kScalar up to BestSimdLevel().
std::vector<SimdLevel> AvailableSimdLevels();

absl::string_view SimdLevelName(SimdLevel level);  // "scalar", "avx2", "avx512"

}  // namespace penstock

#endif  // PENSTOCK_BASE_SIMD_LEVEL_H_
