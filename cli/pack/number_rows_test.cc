#include "cli/pack/number_rows.h"

#include <cmath>
#include <limits>
#include <vector>

#include "base/bytes_of.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename T>
absl::StatusOr<std::vector<int64_t>> Ints(NpyKind kind, const std::vector<T>& values) {
  const NpyHeader header = {kind, sizeof(T), {1, values.size()}};
  std::vector<int64_t> out;
  if (absl::Status status =
          ReadInts(BytesOf(values.data(), values.size() * sizeof(T)), header, out);
      !status.ok()) {
    return status;
  }
  return out;
}

template <typename T>
absl::StatusOr<std::vector<float>> Floats(const std::vector<T>& values) {
  std::vector<float> out;
  if (absl::Status status =
          ReadFloats(BytesOf(values.data(), values.size() * sizeof(T)), sizeof(T), out);
      !status.ok()) {
    return status;
  }
  return out;
}

TEST(NumberRowsTest, IntegersOfEachSize) {
  EXPECT_THAT(Ints<int8_t>(NpyKind::kInt, {-1, 127}), IsOkAndHolds(ElementsAre(-1, 127)));
  EXPECT_THAT(Ints<uint8_t>(NpyKind::kBool, {0, 1}), IsOkAndHolds(ElementsAre(0, 1)));
  EXPECT_THAT(Ints<uint8_t>(NpyKind::kUint, {255}), IsOkAndHolds(ElementsAre(255)));
  EXPECT_THAT(Ints<int16_t>(NpyKind::kInt, {-300}), IsOkAndHolds(ElementsAre(-300)));
  EXPECT_THAT(Ints<uint16_t>(NpyKind::kUint, {65535}), IsOkAndHolds(ElementsAre(65535)));
  EXPECT_THAT(Ints<int32_t>(NpyKind::kInt, {-70'000}), IsOkAndHolds(ElementsAre(-70'000)));
  EXPECT_THAT(Ints<uint32_t>(NpyKind::kUint, {~0u}), IsOkAndHolds(ElementsAre(4294967295)));
  EXPECT_THAT(Ints<int64_t>(NpyKind::kInt, {-5}), IsOkAndHolds(ElementsAre(-5)));
  EXPECT_THAT(Ints<uint64_t>(NpyKind::kUint, {7, ~uint64_t{0}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("18446744073709551615 does not fit into int64")));
}

TEST(NumberRowsTest, NumbersThatStayEqualChangeTheirKind) {
  const std::vector<int64_t> ints = {1 << 24, (1 << 24) + 1, INT64_MAX};
  const NpyHeader of_ints = {NpyKind::kInt, 8, {1, 1}};
  std::vector<float> floats;
  EXPECT_OK(ReadIntsAsFloats(BytesOf(ints.data(), 8), of_ints, floats));
  EXPECT_THAT(floats, ElementsAre(16777216.0f));
  for (size_t i : {1, 2}) {
    EXPECT_THAT(ReadIntsAsFloats(BytesOf(ints.data() + i, 8), of_ints, floats),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("of int64 cannot be stored as float")));
  }
  const std::vector<double> doubles = {-3, 0.5, 0x1p63, std::nan("")};
  const NpyHeader of_doubles = {NpyKind::kFloat, 8, {1, 1}};
  std::vector<int64_t> whole;
  EXPECT_OK(ReadFloatsAsInts(BytesOf(doubles.data(), 8), of_doubles, whole));
  EXPECT_THAT(whole, ElementsAre(-3));
  for (size_t i : {1, 2, 3}) {
    EXPECT_THAT(ReadFloatsAsInts(BytesOf(doubles.data() + i, 8), of_doubles, whole),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("of float64 cannot be stored as int64")));
  }
}

TEST(NumberRowsTest, HalvesAreExact) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(Floats<uint16_t>({0x3c00, 0xc000, 0x7bff, 0x0001, 0x0400, 0x7c00, 0xfc00, 0x8000}),
              IsOkAndHolds(ElementsAre(1.0f, -2.0f, 65504.0f, std::ldexp(1.0f, -24),
                                       std::ldexp(1.0f, -14), kInfinity, -kInfinity, -0.0f)));
  EXPECT_TRUE(std::isnan(Floats<uint16_t>({0x7e00}).value()[0]));
}

TEST(NumberRowsTest, DoublesAreRoundedOrRefused) {
  EXPECT_THAT(Floats<double>({0.1, -2}), IsOkAndHolds(ElementsAre(0.1f, -2.0f)));
  EXPECT_THAT(Floats<double>({1e39}), StatusIs(absl::StatusCode::kInvalidArgument,
                                               HasSubstr("1e+39 does not fit into float32")));
  EXPECT_THAT(Floats<float>({0.5f}), IsOkAndHolds(ElementsAre(0.5f)));
}

}  // namespace
}  // namespace penstock
