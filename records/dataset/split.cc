#include "records/dataset/split.h"

#include <cmath>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/counter_rng.h"
#include "base/load.h"

namespace penstock {
namespace {

constexpr uint64_t kKey0 = 0xa0761d6478bd642full;
constexpr uint64_t kKey1 = 0xe7037ed1a0b428dbull;
constexpr uint64_t kKey2 = 0x8ebc6af09c88c6e3ull;
constexpr uint64_t kKey3 = 0x589965cc75374cc3ull;

// Returns the exclusive or of the two halves of the 128-bit product.
uint64_t Fold(uint64_t a, uint64_t b) {
  unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace

absl::string_view SplitName(Split split) {
  switch (split) {
    case Split::kAll:
      return "all";
    case Split::kTrain:
      return "train";
    case Split::kHoldout:
      return "holdout";
  }
  return "unknown";
}

absl::StatusOr<Split> ParseSplit(absl::string_view name) {
  for (Split split : {Split::kAll, Split::kTrain, Split::kHoldout}) {
    if (name == SplitName(split)) return split;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("split '", name, "' is not all, train or holdout"));
}

// Multiplies and folds, after wyhash (Wang Yi). There are three independent lanes, because a single
// chain of multiplications takes 3 times as long for a board of 194 bytes.
uint64_t SplitHash(std::span<const uint8_t> data) {
  const uint8_t* p = data.data();
  size_t left = data.size();
  uint64_t a = kKey0, b = kKey0, c = kKey0;
  for (; left > 48; p += 48, left -= 48) {
    a = Fold(Load64(p) ^ kKey1, Load64(p + 8) ^ a);
    b = Fold(Load64(p + 16) ^ kKey2, Load64(p + 24) ^ b);
    c = Fold(Load64(p + 32) ^ kKey3, Load64(p + 40) ^ c);
  }
  uint64_t state = a ^ b ^ c;
  for (; left > 16; p += 16, left -= 16) state = Fold(Load64(p) ^ kKey1, Load64(p + 8) ^ state);
  uint8_t tail[16] = {};
  if (left > 0) std::memcpy(tail, p, left);
  state = Fold(Load64(tail) ^ kKey1, Load64(tail + 8) ^ state);
  return Mix64(state ^ data.size());
}

absl::StatusOr<uint32_t> ParseHoldoutThreshold(absl::string_view text) {
  absl::string_view digits = absl::StripSuffix(text, "%");
  double value = 0;
  bool valid = absl::SimpleAtod(digits, &value);
  if (digits.size() < text.size()) value /= 100;
  if (!valid || !(value >= 0 && value < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("holdout '", text, "' is not a share from 0 to below 1, such as 5% or 0.05"));
  }
  return static_cast<uint32_t>(std::min(std::round(value * 0x1p32), 0x1p32 - 1));
}

}  // namespace penstock
