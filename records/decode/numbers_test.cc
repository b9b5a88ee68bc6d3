#include "records/decode/numbers.h"

#include <bit>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/bfloat16.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

constexpr size_t kRows = 3;

template <typename T>
void Append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

// One number after the other, from the definition.
template <typename From>
std::string Reference(const std::vector<From>& values, Dtype dtype) {
  std::string bytes;
  for (const From value : values) {
    if (dtype == Dtype::kBf16) {
      Append(bytes, ToBf16(static_cast<float>(value)));
    } else if (dtype == Dtype::kF64) {
      Append(bytes, static_cast<double>(value));
    } else {
      Append(bytes, static_cast<float>(value));
    }
  }
  return bytes;
}

// Every value somewhere: as rows that begin at odd addresses.
template <typename From>
void ExpectTheSameAtEveryLevel(FeatureType type, const std::vector<From>& values, size_t count) {
  std::string memory(1, 'x');
  memory.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(From));
  std::vector<const uint8_t*> rows;
  for (size_t row = 0; row < kRows; ++row) {
    rows.push_back(reinterpret_cast<const uint8_t*>(memory.data()) + 1 +
                   row * count * sizeof(From));
  }
  const std::vector<From> used(values.begin(), values.begin() + kRows * count);
  for (const Dtype dtype : {Dtype::kBf16, Dtype::kF32, Dtype::kF64}) {
    const std::string want = Reference(used, dtype);
    for (const SimdLevel level : AvailableSimdLevels()) {
      std::string out(want.size() + 2, 'y');
      ConvertNumbers(type, dtype, level, rows.data(), kRows, count,
                     reinterpret_cast<uint8_t*>(out.data()) + 1);
      EXPECT_EQ(out, "y" + want + "y")
          << SimdLevelName(level) << " " << static_cast<int>(dtype) << " count " << count;
    }
  }
}

TEST(ConvertNumbersTest, EveryLevelGivesTheBitsOfOneNumberAfterTheOther) {
  using Limits = std::numeric_limits<float>;
  std::vector<float> floats = {0.0f,
                               -0.0f,
                               Limits::infinity(),
                               -Limits::infinity(),
                               Limits::denorm_min(),
                               Limits::max(),
                               1.00390625f,
                               1.01171875f,
                               std::bit_cast<float>(0x7fc12345),
                               std::bit_cast<float>(0xffffffff),
                               std::bit_cast<float>(0x7f8fffff)};
  std::vector<int64_t> integers = {0,
                                   -1,
                                   16777217,
                                   (int64_t{1} << 53) + 1,
                                   -(int64_t{1} << 62),
                                   std::numeric_limits<int64_t>::max(),
                                   std::numeric_limits<int64_t>::min(),
                                   0x1008000,
                                   0x10080000001};
  std::mt19937_64 random(1);
  while (floats.size() < kRows * 300) {
    floats.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  }
  while (integers.size() < kRows * 300) {
    integers.push_back(static_cast<int64_t>(random() >> random() % 64));
  }
  for (size_t count : {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 100, 300}) {
    ExpectTheSameAtEveryLevel(FeatureType::kFloat, floats, count);
    ExpectTheSameAtEveryLevel(FeatureType::kInt64, integers, count);
  }
}

}  // namespace
}  // namespace penstock
