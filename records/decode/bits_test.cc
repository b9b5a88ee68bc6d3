#include "records/decode/bits.h"

#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

namespace penstock {
namespace {

constexpr Dtype kDtypes[] = {Dtype::kI8, Dtype::kBf16, Dtype::kF32, Dtype::kF64};

std::vector<uint8_t> RandomBytes(size_t n, std::mt19937_64& random) {
  std::vector<uint8_t> bytes(n);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

// The bits of an element with value -1, 0 or +1 as they are in memory.
uint64_t Encode(Dtype dtype, int value) {
  if (value == 0) return 0;
  switch (dtype) {
    case Dtype::kBf16:
      return value > 0 ? 0x3f80 : 0xbf80;
    case Dtype::kF32:
      return value > 0 ? 0x3f800000 : 0xbf800000;
    case Dtype::kF64:
      return value > 0 ? 0x3ff0000000000000 : 0xbff0000000000000;
    default:
      return value > 0 ? 0x01 : 0xff;
  }
}

// Computes one element at a time, from the definition.
std::vector<uint8_t> NaiveRow(const std::vector<BitSource>& elements, Dtype dtype,
                              const uint8_t* row) {
  const size_t size = DtypeSize(dtype);
  std::vector<uint8_t> out(elements.size() * size);
  for (size_t i = 0; i < elements.size(); ++i) {
    const bool set = (row[elements[i].bit / 8] >> (7 - elements[i].bit % 8)) % 2 == 1;
    const uint64_t bits = Encode(dtype, !set ? 0 : elements[i].negative ? -1 : 1);
    std::memcpy(&out[i * size], &bits, size);
  }
  return out;
}

// The memory of each row ends with the row, so that ASan reports reads past it.
struct Rows {
  Rows(size_t n, size_t bytes, std::mt19937_64& random) {
    for (size_t i = 0; i < n; ++i) {
      const std::vector<uint8_t> row = RandomBytes(bytes, random);
      owned.push_back(std::make_unique<uint8_t[]>(bytes));
      std::memcpy(owned.back().get(), row.data(), bytes);
      pointers.push_back(owned.back().get());
    }
  }
  std::vector<std::unique_ptr<uint8_t[]>> owned;
  std::vector<const uint8_t*> pointers;
};

// Compares every level and dtype with NaiveRow(), with canaries around the output.
void ExpectAllLevelsMatch(const std::vector<BitSource>& elements, uint32_t row_bytes,
                          std::mt19937_64& random) {
  const BitTable table = BuildBitTable(elements, row_bytes);
  const Rows rows(3, row_bytes, random);
  for (const Dtype dtype : kDtypes) {
    const size_t out_bytes = elements.size() * DtypeSize(dtype);
    for (const SimdLevel level : AvailableSimdLevels()) {
      for (const Stores stores : {Stores::kCached, Stores::kStreaming}) {
        std::vector<uint8_t> out(3 * out_bytes + 192, 0xcd);
        uint8_t* aligned = out.data() + (64 - reinterpret_cast<uintptr_t>(out.data()) % 64);
        ExpandBits(table, dtype, level, stores, rows.pointers.data(), 3, aligned);
        for (size_t i = 0; i < 3; ++i) {
          const std::vector<uint8_t> want = NaiveRow(elements, dtype, rows.pointers[i]);
          ASSERT_EQ(std::memcmp(want.data(), aligned + i * out_bytes, out_bytes), 0)
              << SimdLevelName(level) << " " << DtypeName(dtype) << " row " << i << " of "
              << elements.size() << " elements from " << row_bytes << " bytes";
        }
        ASSERT_EQ(aligned[-1], 0xcd);
        ASSERT_EQ(aligned[3 * out_bytes], 0xcd);
      }
    }
  }
}

std::vector<BitSource> ChessPlanes() {
  std::vector<BitSource> elements;
  for (uint32_t square = 0; square < 64; ++square) {
    for (uint32_t k = 0; k < 4; ++k) {
      for (uint32_t t = 0; t < 6; ++t) elements.push_back({24 * square + 4 * t + k, k % 2 == 1});
    }
  }
  return elements;
}

TEST(BitTableTest, FindsThatChessPlanesRepeatEveryEightSquares) {
  const BitTable table = BuildBitTable(ChessPlanes(), 194);
  EXPECT_EQ(table.period.size(), 3);
  EXPECT_EQ(table.repeats, 8);
  EXPECT_EQ(table.stride, 24);
  EXPECT_EQ(table.tail_size, 0);
  for (const BitBlock& block : table.period) EXPECT_TRUE(block.lanes);
}

TEST(BitTableTest, KeepsAtMost64ByteTables) {
  std::mt19937_64 random(5);
  std::vector<BitSource> elements(4096);
  for (BitSource& e : elements) e = {static_cast<uint32_t>(random() % 24), random() % 2 == 1};
  EXPECT_EQ(BuildBitTable(elements, 3).byte_tables.size(), 64);
}

TEST(ExpandBitsTest, ChessPlanesMatchTheDefinition) {
  std::mt19937_64 random(1);
  ExpectAllLevelsMatch(ChessPlanes(), 194, random);
}

TEST(ExpandBitsTest, PlaneMajorOrderMatchesTheDefinition) {
  std::mt19937_64 random(2);
  std::vector<BitSource> elements;
  for (uint32_t plane = 0; plane < 24; ++plane) {
    for (uint32_t square = 0; square < 64; ++square)
      elements.push_back({24 * square + plane, false});
  }
  ExpectAllLevelsMatch(elements, 192, random);
}

// Any mapping, not only those that a transpose can give: short rows, far reaches, odd sizes.
TEST(ExpandBitsTest, RandomMappingsMatchTheDefinition) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 150; ++round) {
    const uint32_t row_bytes = 1 + static_cast<uint32_t>(random() % (round % 3 == 0 ? 15 : 700));
    const uint32_t reach = 1 + static_cast<uint32_t>(random() % row_bytes);
    std::vector<BitSource> elements(1 + random() % 300);
    const uint32_t first = 8 * static_cast<uint32_t>(random() % (row_bytes - reach + 1));
    for (BitSource& e : elements) {
      e = {first + static_cast<uint32_t>(random() % (8 * reach)), random() % 2 == 1};
    }
    ExpectAllLevelsMatch(elements, row_bytes, random);
    if (HasFatalFailure()) return;
  }
}

// A pattern of whole blocks that repeats, up to the very first and last byte of the row.
TEST(ExpandBitsTest, RepeatedMappingsMatchTheDefinition) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 60; ++round) {
    const uint32_t stride = 1 + static_cast<uint32_t>(random() % 40);
    const uint32_t repeats = 2 + static_cast<uint32_t>(random() % 6);
    std::vector<BitSource> pattern(64 * (1 + random() % 3));
    for (BitSource& e : pattern)
      e = {static_cast<uint32_t>(random() % (8 * stride)), random() % 2 == 1};
    std::vector<BitSource> elements;
    for (uint32_t r = 0; r < repeats; ++r) {
      for (const BitSource& e : pattern) elements.push_back({e.bit + 8 * stride * r, e.negative});
    }
    ExpectAllLevelsMatch(elements, stride * repeats, random);
    if (HasFatalFailure()) return;
  }
}

TEST(ExpandBitsTest, WritesNothingForNoRows) {
  const BitTable table = BuildBitTable(ChessPlanes(), 194);
  for (const SimdLevel level : AvailableSimdLevels()) {
    uint8_t canary = 0xcd;
    ExpandBits(table, Dtype::kI8, level, Stores::kCached, nullptr, 0, &canary);
    EXPECT_EQ(canary, 0xcd);
  }
}

}  // namespace
}  // namespace penstock
