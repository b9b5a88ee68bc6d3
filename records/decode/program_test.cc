// Compares Program::DecodeRows() with independent formulas, for every level and dtype.
#include "records/decode/program.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/streaming_copy.h"
#include "gmock/gmock.h"
#include "records/decode/spec.h"
#include "records/decode/testing/elements.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;

// Rows of features in separate memory, at odd addresses.
class Features {
 public:
  explicit Features(size_t columns) : values_(columns), pointers_(columns) {}

  void Add(size_t column, const void* bytes, size_t size) {
    const auto* from = static_cast<const uint8_t*>(bytes);
    std::vector<uint8_t> value(1, 0);
    value.insert(value.end(), from, from + size);
    values_[column].push_back(std::move(value));
  }

  std::vector<FeatureColumn> Columns() {
    std::vector<FeatureColumn> columns;
    for (size_t c = 0; c < values_.size(); ++c) {
      pointers_[c].clear();
      for (const std::vector<uint8_t>& value : values_[c]) pointers_[c].push_back(value.data() + 1);
      columns.push_back(pointers_[c].data());
    }
    return columns;
  }

 private:
  std::vector<std::vector<std::vector<uint8_t>>> values_;
  std::vector<std::vector<const uint8_t*>> pointers_;
};

struct Decoded {
  std::vector<std::vector<uint8_t>> tensors;
  DecodeCounters counters;
};

Decoded Decode(const Program& program, Features& features, size_t n, SimdLevel level) {
  Decoded decoded;
  for (const TensorInfo& tensor : program.tensors()) {
    decoded.tensors.emplace_back(n * tensor.row_bytes, 0xcd);
  }
  std::vector<uint8_t*> outputs;
  for (std::vector<uint8_t>& tensor : decoded.tensors) outputs.push_back(tensor.data());
  decoded.counters = program.DecodeRows(features.Columns(), n, outputs, {.level = level}).counters;
  return decoded;
}

// The elements of any bits tensor as doubles.
std::vector<double> ToDoubles(Dtype dtype, const std::vector<uint8_t>& bytes) {
  std::vector<double> values;
  if (dtype == Dtype::kI8) {
    for (const int8_t v : As<int8_t>(bytes)) values.push_back(v);
  } else if (dtype == Dtype::kBf16) {
    for (const uint16_t v : As<uint16_t>(bytes)) {
      const uint32_t wide = uint32_t{v} << 16;
      float value;
      std::memcpy(&value, &wide, 4);
      values.push_back(value);
    }
  } else if (dtype == Dtype::kF32) {
    for (const float v : As<float>(bytes)) values.push_back(v);
  } else {
    values = As<double>(bytes);
  }
  return values;
}

// Distinguishes -0.0 from 0.0.
bool SameValue(double a, double b) { return a == b && std::signbit(a) == std::signbit(b); }

struct Position {
  std::vector<uint8_t> d = std::vector<uint8_t>(194);
  int64_t s = 0;
};

bool BitOf(const Position& position, size_t bit) { return position.d[bit / 8] & (0x80 >> bit % 8); }

Position RandomPosition(std::mt19937_64& random, int64_t s, bool mate) {
  Position position;
  for (uint8_t& byte : position.d) byte = static_cast<uint8_t>(random());
  position.d[193] = static_cast<uint8_t>((position.d[193] & ~0x20) | (mate ? 0x20 : 0));
  position.s = s;
  return position;
}

// The cases of the golden vectors: all zeros, all ones, each bit alone, and random positions with
// every kind of score.
std::vector<Position> GoldenCases() {
  std::mt19937_64 random(7);
  std::vector<Position> positions(1554);
  positions[1].d.assign(194, 0xff);
  for (size_t bit = 0; bit < 1552; ++bit) {
    positions[2 + bit].d[bit / 8] = static_cast<uint8_t>(0x80 >> bit % 8);
    positions[2 + bit].s = static_cast<int64_t>(bit) - 700;
  }
  for (const int64_t s :
       {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{5}, int64_t{-11}, int64_t{12}, int64_t{-400},
        int64_t{3000}, int64_t{1} << 40, -(int64_t{1} << 40)}) {
    for (const bool mate : {false, true}) positions.push_back(RandomPosition(random, s, mate));
  }
  return positions;
}

Features FeaturesOf(const std::vector<Position>& positions) {
  Features features(2);
  for (const Position& position : positions) {
    features.Add(0, position.d.data(), position.d.size());
    features.Add(1, &position.s, 8);
  }
  return features;
}

double WantPlane(const Position& position, size_t square, size_t k, size_t t) {
  if (!BitOf(position, 24 * square + 4 * t + k)) return 0;
  return k == 1 || k == 3 ? -1 : 1;
}

double WantScore(const Position& position) {
  const long double s = static_cast<long double>(position.s);
  if (!BitOf(position, 1546)) return static_cast<double>(0.8 * std::tanh(s / 400));
  const long double sign = s > 0 ? 1 : s < 0 ? -1 : 0;
  return static_cast<double>(sign * (0.8 + (1 - 0.8) / 10 * std::fmax(0.0L, 11 - std::fabs(s))));
}

class ChessTest : public ::testing::TestWithParam<std::tuple<WireDtype, SimdLevel>> {
 protected:
  void SetUp() override {
    const auto [dtype, level] = GetParam();
    if (level > BestSimdLevel()) GTEST_SKIP() << "this processor has no " << SimdLevelName(level);
    ASSERT_OK_AND_ASSIGN(const v1::DecodeSpec spec, LoadSpec("chess"));
    ASSERT_OK_AND_ASSIGN(const Program program, Program::Compile(spec, dtype));
    Features features = FeaturesOf(positions_);
    decoded_ = Decode(program, features, positions_.size(), level);
    dtype_ = program.tensors()[0].dtype;
  }

  std::vector<Position> positions_ = GoldenCases();
  Decoded decoded_;
  Dtype dtype_ = Dtype::kI8;
};

TEST_P(ChessTest, PlanesHoldTheDefinition) {
  const std::vector<double> planes = ToDoubles(dtype_, decoded_.tensors[0]);
  for (size_t i = 0; i < positions_.size() * 64; ++i) {
    for (size_t j = 0; j < 24; ++j) {
      ASSERT_TRUE(
          SameValue(planes[24 * i + j], WantPlane(positions_[i / 64], i % 64, j / 6, j % 6)))
          << "position " << i / 64 << " square " << i % 64 << " plane " << j;
    }
  }
}

// Decodes runs of rows as for batches: some begin at a cache line, most do not.
TEST_P(ChessTest, RunsPastTheCachesHoldTheSameBytes) {
  ASSERT_OK_AND_ASSIGN(const v1::DecodeSpec spec, LoadSpec("chess"));
  const auto [dtype, level] = GetParam();
  ASSERT_OK_AND_ASSIGN(const Program program, Program::Compile(spec, dtype));
  Features features = FeaturesOf(positions_);
  const std::vector<FeatureColumn> all = features.Columns();
  for (const size_t shift : {0, 5}) {
    std::vector<std::vector<uint8_t>> memory;
    std::vector<std::span<uint8_t>> tensors;
    for (const std::vector<uint8_t>& want : decoded_.tensors) {
      std::vector<uint8_t>& bytes = memory.emplace_back(want.size() + 200, 0xcd);
      const size_t begin = -reinterpret_cast<uintptr_t>(bytes.data()) % 64 + shift;
      tensors.push_back(std::span(bytes).subspan(begin, want.size()));
    }
    DecodeCounters counters;
    for (size_t first = 0, n = 1; first < positions_.size(); first += n, n = 1 + n * 7 % 37) {
      n = std::min(n, positions_.size() - first);
      std::vector<FeatureColumn> columns = all;
      for (FeatureColumn& column : columns) column += first;
      std::vector<uint8_t*> outputs;
      for (size_t t = 0; t < tensors.size(); ++t) {
        outputs.push_back(tensors[t].data() + first * program.tensors()[t].row_bytes);
      }
      counters += program
                      .DecodeRows(columns, n, outputs,
                                  {.level = level,
                                   .stores = Stores::kStreaming,
                                   .rows_behind = positions_.size() - first - n,
                                   .fetched = first > 0})
                      .counters;
    }
    StreamingFence();
    for (size_t t = 0; t < tensors.size(); ++t) {
      EXPECT_TRUE(std::ranges::equal(tensors[t], decoded_.tensors[t])) << "tensor " << t;
      if (shift > 0) {
        EXPECT_EQ(*(tensors[t].data() - 1), 0xcd);
      }
      EXPECT_EQ(tensors[t].data()[tensors[t].size()], 0xcd);
    }
    EXPECT_EQ(counters.mates_without_sign, decoded_.counters.mates_without_sign);
  }
}

TEST_P(ChessTest, FlagsHoldTheDefinition) {
  const std::vector<double> flags = ToDoubles(dtype_, decoded_.tensors[1]);
  for (size_t i = 0; i < flags.size(); ++i) {
    ASSERT_TRUE(SameValue(flags[i], BitOf(positions_[i / 10], 1536 + i % 10))) << i;
  }
}

TEST_P(ChessTest, ScoresHoldTheDefinition) {
  for (size_t i = 0; i < positions_.size(); ++i) {
    const double want = WantScore(positions_[i]);
    if (dtype_ == Dtype::kF64) {
      ASSERT_NEAR(As<double>(decoded_.tensors[2])[i], want, 1e-15) << i;
    } else {
      ASSERT_EQ(As<float>(decoded_.tensors[2])[i], static_cast<float>(want)) << i;
    }
  }
}

TEST_P(ChessTest, CountsMatesWithoutSign) {
  uint64_t want = 0;
  for (const Position& position : positions_) want += BitOf(position, 1546) && position.s == 0;
  EXPECT_EQ(decoded_.counters.mates_without_sign, want);
  EXPECT_GE(want, 2);
}

INSTANTIATE_TEST_SUITE_P(All, ChessTest,
                         ::testing::Combine(::testing::ValuesIn(kExpanded),
                                            ::testing::Values(SimdLevel::kScalar, SimdLevel::kAvx2,
                                                              SimdLevel::kAvx512)),
                         [](const auto& test) {
                           return absl::StrCat(WireDtypeName(std::get<0>(test.param)), "_",
                                               SimdLevelName(std::get<1>(test.param)));
                         });

TEST(ProgramTest, PackedRowsAreTheFeaturesOwnBytes) {
  ASSERT_OK_AND_ASSIGN(const v1::DecodeSpec spec, LoadSpec("chess"));
  ASSERT_OK_AND_ASSIGN(const Program program, Program::Compile(spec, WireDtype::kPacked));
  const std::vector<Position> positions = GoldenCases();
  Features features = FeaturesOf(positions);
  const Decoded decoded = Decode(program, features, positions.size(), BestSimdLevel());
  const std::vector<int64_t> scores = As<int64_t>(decoded.tensors[1]);
  for (size_t i = 0; i < positions.size(); ++i) {
    ASSERT_EQ(std::memcmp(&decoded.tensors[0][194 * i], positions[i].d.data(), 194), 0) << i;
    ASSERT_EQ(scores[i], positions[i].s) << i;
  }
}

TEST(ProgramTest, DecodesAnyNumberOfRows) {
  ASSERT_OK_AND_ASSIGN(const v1::DecodeSpec spec, LoadSpec("chess"));
  ASSERT_OK_AND_ASSIGN(const Program program, Program::Compile(spec, WireDtype::kI8));
  const std::vector<Position> positions = GoldenCases();
  Features features = FeaturesOf(positions);
  const Decoded all = Decode(program, features, positions.size(), BestSimdLevel());
  for (const size_t n : {0, 1, 7, 8, 9, 16, 31}) {
    const Decoded some = Decode(program, features, n, BestSimdLevel());
    for (size_t t = 0; t < some.tensors.size(); ++t) {
      EXPECT_TRUE(
          std::equal(some.tensors[t].begin(), some.tensors[t].end(), all.tensors[t].begin()))
          << n << " rows of tensor " << t;
    }
  }
}

// A bits operation over small random dims, with the expected result computed from indices.
struct RandomBits {
  explicit RandomBits(std::mt19937_64& random) {
    const size_t axes = 1 + random() % 4;
    for (size_t i = 0; i < axes; ++i) dims.push_back(1 + static_cast<uint32_t>(random() % 9));
    transpose.resize(axes);
    std::iota(transpose.begin(), transpose.end(), 0);
    std::shuffle(transpose.begin(), transpose.end(), random);
    sign_axis = static_cast<uint32_t>(random() % axes);
    for (uint32_t i = 0; i < dims[sign_axis]; ++i) negative.push_back(random() % 2 == 1);
    first_bit = static_cast<uint32_t>(random() % 40);
    lsb_first = random() % 2 == 1;
    size = std::accumulate(dims.begin(), dims.end(), 1u, std::multiplies<>());
    bytes = (first_bit + size + 7) / 8 + static_cast<uint32_t>(random() % 3);
  }

  v1::DecodeSpec Spec() const {
    v1::DecodeSpec spec;
    v1::TensorSpec& tensor = *spec.add_tensor();
    tensor.set_name("x");
    v1::Bits& bits = *tensor.mutable_bits();
    bits.set_feature("d");
    bits.set_feature_bytes(bytes);
    bits.set_first_bit(first_bit);
    bits.set_sign_axis(sign_axis);
    if (lsb_first) bits.set_order(v1::Bits::LSB_FIRST);
    for (const uint32_t size_of_axis : dims) bits.add_dims(size_of_axis);
    for (const uint32_t axis : transpose) bits.add_transpose(axis);
    for (uint32_t i = 0; i < negative.size(); ++i) {
      if (negative[i]) bits.add_negative(i);
    }
    return spec;
  }

  // Walks the stored elements and computes where each goes, in the opposite direction to the
  // program.
  std::vector<double> Want(const uint8_t* row) const {
    std::vector<double> out(size);
    for (uint32_t stored = 0; stored < size; ++stored) {
      std::vector<uint32_t> index(dims.size());
      uint32_t rest = stored;
      for (size_t i = dims.size(); i-- > 0; rest /= dims[i]) index[i] = rest % dims[i];
      uint32_t to = 0;
      for (const uint32_t axis : transpose) to = to * dims[axis] + index[axis];
      const uint32_t bit = first_bit + stored;
      if ((row[bit / 8] >> (lsb_first ? bit % 8 : 7 - bit % 8)) % 2 == 0) continue;
      out[to] = negative[index[sign_axis]] ? -1 : 1;
    }
    return out;
  }

  std::vector<uint32_t> dims, transpose;
  std::vector<bool> negative;
  uint32_t sign_axis, first_bit, size, bytes;
  bool lsb_first;
};

void ExpectHoldsTheDefinition(const RandomBits& bits, std::mt19937_64& random) {
  std::vector<uint8_t> row(bits.bytes);
  for (uint8_t& byte : row) byte = static_cast<uint8_t>(random());
  Features features(1);
  features.Add(0, row.data(), row.size());
  const std::vector<double> want = bits.Want(row.data());
  for (const WireDtype dtype : kExpanded) {
    ASSERT_OK_AND_ASSIGN(const Program program, Program::Compile(bits.Spec(), dtype));
    for (const SimdLevel level : AvailableSimdLevels()) {
      const Decoded decoded = Decode(program, features, 1, level);
      const std::vector<double> got = ToDoubles(program.tensors()[0].dtype, decoded.tensors[0]);
      ASSERT_TRUE(std::equal(want.begin(), want.end(), got.begin(), got.end(), SameValue))
          << SimdLevelName(level) << " " << bits.Spec().ShortDebugString();
    }
  }
}

TEST(ProgramTest, RandomSpecsHoldTheDefinition) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 300; ++round) {
    ExpectHoldsTheDefinition(RandomBits(random), random);
    if (HasFatalFailure()) return;
  }
}

TEST(ProgramTest, GivesTheDocumentedExample) {
  ASSERT_OK_AND_ASSIGN(const v1::DecodeSpec spec, ParseSpec(R"(tensor { name: 'x' bits {
      feature: 'd' feature_bytes: 2 first_bit: 4 dims: [2, 3] transpose: [1, 0] shape: 6
      sign_axis: 0 negative: 1 } })",
                                                            "test"));
  ASSERT_OK_AND_ASSIGN(const Program program, Program::Compile(spec, WireDtype::kI8));
  Features features(1);
  features.Add(0, "\x0b\x40", 2);
  const Decoded decoded = Decode(program, features, 1, BestSimdLevel());
  EXPECT_THAT(As<int8_t>(decoded.tensors[0]), ElementsAre(1, -1, 0, 0, 1, -1));
}

// np.unpackbits(np.array([0x0b, 0x40], np.uint8), bitorder='little')
TEST(ProgramTest, TheLeastSignificantBitMayComeFirst) {
  ASSERT_OK_AND_ASSIGN(
      const v1::DecodeSpec spec,
      ParseSpec("tensor { name: 'x' bits { feature: 'd' feature_bytes: 2 order: LSB_FIRST dims: 16 "
                "} } tensor { name: 'y' bits { feature: 'd' feature_bytes: 2 order: LSB_FIRST "
                "first_bit: 1 dims: 5 } }",
                "test"));
  ASSERT_OK_AND_ASSIGN(const Program program, Program::Compile(spec, WireDtype::kI8));
  Features features(1);
  features.Add(0, "\x0b\x40", 2);
  for (const SimdLevel level : AvailableSimdLevels()) {
    const Decoded decoded = Decode(program, features, 1, level);
    EXPECT_THAT(As<int8_t>(decoded.tensors[0]),
                ElementsAre(1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0));
    EXPECT_THAT(As<int8_t>(decoded.tensors[1]), ElementsAre(1, 0, 1, 0, 0));
  }
}

constexpr char kNumbers[] = R"(
  tensor { name: 'n' number { feature: 'i' count: 3 } }
  tensor { name: 'f' number { feature: 'f' count: 2 type: FLOAT } }
  tensor { name: 'y' label { feature: 'l' } }
  tensor { name: 'b' bytes { feature: 'b' length: 5 } })";

class NumbersTest : public ::testing::Test {
 protected:
  NumbersTest() {
    const int64_t numbers[] = {-3, 16777217, int64_t{1} << 62};
    const float floats[] = {0.1f, -2.5f};
    const int64_t label = -77;
    features_.Add(0, numbers, sizeof(numbers));
    features_.Add(1, floats, sizeof(floats));
    features_.Add(2, &label, 8);
    features_.Add(3, "hello", 5);
  }

  Decoded DecodeAs(WireDtype dtype) {
    const Program program = *Program::Compile(*ParseSpec(kNumbers, "test"), dtype);
    return Decode(program, features_, 1, BestSimdLevel());
  }

  Features features_{4};
};

TEST_F(NumbersTest, IntegersAreExactForEveryDtype) {
  for (const WireDtype dtype : kExpanded) {
    const Decoded decoded = DecodeAs(dtype);
    EXPECT_THAT(As<int64_t>(decoded.tensors[0]), ElementsAre(-3, 16777217, int64_t{1} << 62));
    EXPECT_THAT(As<int64_t>(decoded.tensors[2]), ElementsAre(-77));
    EXPECT_THAT(decoded.tensors[3], ElementsAre('h', 'e', 'l', 'l', 'o'));
  }
}

TEST_F(NumbersTest, FloatsAreF32ForI8) {
  EXPECT_THAT(As<float>(DecodeAs(WireDtype::kI8).tensors[1]), ElementsAre(0.1f, -2.5f));
}

TEST_F(NumbersTest, FloatsAreExactInF64) {
  EXPECT_THAT(As<double>(DecodeAs(WireDtype::kF64).tensors[1]), ElementsAre(double{0.1f}, -2.5));
}

TEST_F(NumbersTest, FloatsRoundToNearestInBf16) {
  EXPECT_THAT(As<uint16_t>(DecodeAs(WireDtype::kBf16).tensors[1]), ElementsAre(0x3dcd, 0xc020));
}

TEST_F(NumbersTest, ArePackedAsStored) {
  const Decoded decoded = DecodeAs(WireDtype::kPacked);
  ASSERT_EQ(decoded.tensors.size(), 4);
  EXPECT_THAT(As<int64_t>(decoded.tensors[0]), ElementsAre(-3, 16777217, int64_t{1} << 62));
  EXPECT_THAT(As<float>(decoded.tensors[1]), ElementsAre(0.1f, -2.5f));
}

TEST(ProgramTest, Bf16KeepsSpecialNumbersAndTies) {
  ASSERT_OK_AND_ASSIGN(
      const v1::DecodeSpec spec,
      ParseSpec("tensor { name: 'f' number { feature: 'f' count: 5 type: FLOAT } }", "test"));
  ASSERT_OK_AND_ASSIGN(const Program program, Program::Compile(spec, WireDtype::kBf16));
  const float values[] = {INFINITY, NAN, 0x1.01p0f, 0x1.03p0f, 0x1.fffffep127f};
  Features features(1);
  features.Add(0, values, sizeof(values));
  const Decoded decoded = Decode(program, features, 1, BestSimdLevel());
  EXPECT_THAT(As<uint16_t>(decoded.tensors[0]),
              ElementsAre(0x7f80, 0x7fc0, 0x3f80, 0x3f82, 0x7f80));
}

}  // namespace
}  // namespace penstock
