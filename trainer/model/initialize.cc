#include "trainer/model/initialize.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/counter_rng.h"

namespace penstock {
namespace {

// Keeps the keys of these numbers apart from other keys of the same seed.
constexpr uint64_t kInitializeTag = 0x70617261;  // "para"

void FillUniform(uint64_t key, double bound, std::span<float> out) {
  CounterRng rng(key);
  for (float& value : out) value = static_cast<float>((2 * rng.Uniform() - 1) * bound);
}

void FillNormal(uint64_t key, double deviation, std::span<float> out) {
  CounterRng rng(key);
  for (float& value : out) {
    const double radius = std::sqrt(-2 * std::log1p(-rng.Uniform()));
    const double angle = 2 * std::numbers::pi * rng.Uniform();
    value = static_cast<float>(deviation * radius * std::cos(angle));
  }
}

void Fill(const Parameter& parameter, uint64_t key, std::span<float> out) {
  switch (parameter.kind) {
    case ParameterKind::kMatrix:
    case ParameterKind::kBias:
      return FillUniform(key, 1 / std::sqrt(static_cast<double>(parameter.fan_in)), out);
    case ParameterKind::kPosition:
      return FillNormal(key, 0.02, out);
    case ParameterKind::kGain:
      std::fill(out.begin(), out.end(), 1.0f);
      return;
    case ParameterKind::kOffset:
    case ParameterKind::kAttentionBias:
      return;
  }
}

}  // namespace

void InitializeParameters(const ParameterTable& table, uint64_t seed, std::span<float> arena) {
  std::fill(arena.begin(), arena.end(), 0.0f);
  const uint64_t key = DeriveKey(seed, kInitializeTag);
  uint64_t number = 0;
  for (const Parameter& parameter : table.parameters()) {
    if (parameter.kind == ParameterKind::kAttentionBias) continue;
    Fill(parameter, DeriveKey(key, number++), arena.subspan(parameter.offset, parameter.count));
  }
}

}  // namespace penstock
