#include "records/decode/numbers.h"

#include <bit>
#include <cstring>
#include <limits>
#include <random>
#include <span>
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

// Converts one number at a time, from the definition.
template <typename From>
std::string Reference(std::span<const From> values, Dtype dtype) {
  std::string bytes;
  for (const From value : values) {
    if (dtype == Dtype::kBf16) {
      Append(bytes, ToBf16(static_cast<float>(value)));
    } else if (dtype == Dtype::kF64) {
      Append(bytes, static_cast<double>(value));
    } else if (dtype == Dtype::kF32) {
      Append(bytes, static_cast<float>(value));
    } else {
      Append(bytes, static_cast<int32_t>(value));
    }
  }
  return bytes;
}

// Rows of `count` values that begin at odd addresses.
struct OddRows {
  template <typename From>
  OddRows(std::span<const From> values, size_t count) : memory(1, 'x') {
    memory.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
    for (size_t row = 0; row < kRows; ++row) {
      pointers.push_back(reinterpret_cast<const uint8_t*>(memory.data()) + 1 +
                         row * count * sizeof(From));
    }
  }
  std::string memory;
  std::vector<const uint8_t*> pointers;
};

const size_t kCounts[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 100, 300};

// `convert` writes the rows to its last argument.
template <typename From, typename Convert>
void ExpectTheSameAtEveryLevel(std::span<const From> all, Dtype dtype, const Convert& convert) {
  for (const size_t count : kCounts) {
    const std::span<const From> values = all.first(kRows * count);
    const OddRows rows(values, count);
    const std::string want = Reference(values, dtype);
    for (const SimdLevel level : AvailableSimdLevels()) {
      std::string out(want.size() + 2, 'y');
      convert(level, rows.pointers.data(), count, reinterpret_cast<uint8_t*>(out.data()) + 1);
      EXPECT_EQ(out, "y" + want + "y")
          << SimdLevelName(level) << " " << DtypeName(dtype) << " count " << count;
    }
  }
}

TEST(ConvertFloatsTest, EveryLevelGivesTheBitsOfOneNumberAfterTheOther) {
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
  std::mt19937_64 random(1);
  while (floats.size() < kRows * 300) {
    floats.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  }
  for (const Dtype dtype : {Dtype::kBf16, Dtype::kF32, Dtype::kF64}) {
    ExpectTheSameAtEveryLevel(std::span<const float>(floats), dtype,
                              [&](SimdLevel level, auto rows, size_t count, uint8_t* out) {
                                ConvertFloats(dtype, level, rows, kRows, count, out);
                              });
  }
}

// From the definition: converts the integer to the type and back, in 128 bits, which can hold both.
bool IsExact(Dtype dtype, int64_t value) {
  if (dtype == Dtype::kI64) return true;
  if (dtype == Dtype::kI32) return value == static_cast<int32_t>(value);
  const auto number = static_cast<float>(value);
  const float rounded = dtype == Dtype::kBf16 ? FromBf16(ToBf16(number)) : number;
  return static_cast<__int128>(rounded) == static_cast<__int128>(value);
}

// Every power of two, its neighbours and numbers that differ in the next few digits, of both signs;
// and random numbers of every size.
std::vector<int64_t> InterestingIntegers() {
  std::vector<int64_t> integers = {0, std::numeric_limits<int64_t>::min()};
  for (int power = 0; power < 63; ++power) {
    const int64_t high = int64_t{1} << power;
    for (const int below : {0, 6, 7, 8, 9, 22, 23, 24, 25}) {
      const int64_t low = below > power ? 0 : int64_t{1} << (power - below);
      for (const int64_t value : {high - 1, high, high - low, high - 1 + low}) {
        integers.insert(integers.end(), {value, -value});
      }
    }
  }
  std::mt19937_64 random(2);
  for (int i = 0; i < 20000; ++i) {
    integers.push_back(static_cast<int64_t>(random()) >> random() % 64);
    integers.push_back(static_cast<int64_t>(random() % 512) << random() % 55);
  }
  return integers;
}

constexpr Dtype kIntegerDtypes[] = {Dtype::kI32, Dtype::kBf16, Dtype::kF32};

TEST(ConvertIntegersTest, HoldsExactlyWhatComesBackFromTheType) {
  for (const int64_t value : InterestingIntegers()) {
    for (const Dtype dtype : {Dtype::kI32, Dtype::kBf16, Dtype::kF32, Dtype::kI64}) {
      ASSERT_EQ(HoldsExactly(dtype, value), IsExact(dtype, value))
          << value << " as " << DtypeName(dtype);
    }
  }
}

TEST(ConvertIntegersTest, EveryLevelGivesTheBitsOfOneNumberAfterTheOther) {
  for (const Dtype dtype : kIntegerDtypes) {
    std::vector<int64_t> exact;
    for (const int64_t value : InterestingIntegers()) {
      if (IsExact(dtype, value)) exact.push_back(value);
    }
    ASSERT_GE(exact.size(), kRows * 300);
    ExpectTheSameAtEveryLevel(std::span<const int64_t>(exact), dtype,
                              [&](SimdLevel level, auto rows, size_t count, uint8_t* out) {
                                EXPECT_TRUE(ConvertIntegers(dtype, level, rows, kRows, count, out));
                              });
  }
}

TEST(ConvertIntegersTest, EveryLevelFindsOneInexactIntegerAnywhere) {
  for (const Dtype dtype : kIntegerDtypes) {
    for (size_t count : {1, 2, 9, 33}) {
      for (size_t at = 0; at < kRows * count; ++at) {
        std::vector<int64_t> values(kRows * count, 3);
        values[at] = (int64_t{1} << 40) + 1;
        const OddRows rows(std::span<const int64_t>(values), count);
        std::vector<uint8_t> out(kRows * count * DtypeSize(dtype));
        for (const SimdLevel level : AvailableSimdLevels()) {
          EXPECT_FALSE(
              ConvertIntegers(dtype, level, rows.pointers.data(), kRows, count, out.data()))
              << SimdLevelName(level) << " " << DtypeName(dtype) << " " << at << " of " << count;
        }
      }
    }
  }
}

}  // namespace
}  // namespace penstock
